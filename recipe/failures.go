package recipe

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
)

// Failures say what becomes of samples that fail in a step; at a source, of files that
// cannot be read. What is not given is as the loader says. Operations on an image that
// run as one fail as one, too: a step without failures has those of the step on the image
// before it.
type Failures struct {
	OnError   string     `json:"on_error,omitempty" choices:"raise,skip,replace"`
	MaxErrors *MaxErrors `json:"max_errors,omitempty"`
	Retries   int        `json:"retries,omitempty" min:"0" max:"100" doc:"tries after the first; by default none"`
	Wait      *float64   `json:"wait,omitempty" min:"0" max:"30"`
	TimeLimit *float64   `json:"time_limit,omitempty" min:"0.001" max:"86400"`
}

// Docs implements [argument.Documented].
func (*Failures) Docs() map[string]string {
	return map[string]string{
		"on_error": "raise: the first bad sample stops the run; skip: leave it out; replace: draw another one; " +
			"both count and name it; by default as in the loader",
		"max_errors": "with skip and replace: bad samples allowed in this step in an epoch, a whole number or a " +
			"share such as 0.01; by default as in the loader",
		"wait":       "seconds before the first retry, doubled before each further one, up to 30; by default 0.1",
		"time_limit": "seconds that a sample may take in this step, at each try; by default no limit",
	}
}

// defaultWait is short enough to go unnoticed, and long enough for what hinders a read to
// pass.
const defaultWait = 0.1

func (f *Failures) complete() *Failures {
	if f == nil || *f == (Failures{}) {
		return nil
	}
	c := *f
	if c.Retries > 0 {
		c.Wait = new(argument.OrElse(c.Wait, defaultWait))
	}
	return &c
}

// Check returns what is wrong with the values.
func (f *Failures) Check() error {
	errs := []error{argument.CheckTags(f)}
	if f.MaxErrors != nil {
		if err := f.MaxErrors.Check(); err != nil {
			errs = append(errs, Wrong("max_errors", "%w", err))
		}
		if f.OnError == "raise" {
			errs = append(errs, Wrong("max_errors", `has no meaning with on_error="raise": the first bad sample stops the run`))
		}
	}
	if f.Wait != nil && f.Retries == 0 {
		errs = append(errs, Wrong("wait", "is %v, but retries is 0: there is nothing to wait for", *f.Wait))
	}
	return errors.Join(errs...)
}

// Failing is implemented by arguments of operations about whose failures not everything
// can be done.
type Failing interface {
	// CheckFailures returns what of f cannot be; nil: all of it can.
	CheckFailures(f *Failures) error
}

// NoneFail is for operations that do nothing to samples.
func NoneFail(op string) error {
	return fmt.Errorf("is given, but no sample fails in %s: put it at steps that read or change samples", op)
}

// CheckOnce is for operations that can be given a sample once only.
func (f *Failures) CheckOnce(why string) error {
	if f.Retries != 0 || f.Wait != nil || f.OnError == "replace" {
		return fmt.Errorf("tries again or draws another sample, but %s: use raise or skip for on_error, and no retries", why)
	}
	return nil
}
