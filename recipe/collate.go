package recipe

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/sample"
)

// Collate is a Python function that makes a batch of its samples. The function is given a
// list of them, and gives the fields of the whole batch.
type Collate struct {
	Python
	Gives Gives `json:"gives,omitzero" example:"{\"tokens\": {\"dtype\": \"int64\", \"shape\": [null, null]}}"`
}

// Docs implements [argument.Documented].
func (*Collate) Docs() map[string]string {
	return map[string]string{
		"gives": "the batch's fields: \"text\", \"object\", or an object with the dtype and shape of the whole " +
			"array, null for an extent that differs; by default the first batch decides dtypes and axes. A batch " +
			"that does not fit fails all its samples",
	}
}

// Complete returns the arguments with their defaults.
func (c *Collate) Complete() *Collate {
	if c == nil {
		return nil
	}
	return &Collate{c.Python.Complete(), c.Gives}
}

// Identity returns the arguments that matter to what comes out.
func (c *Collate) Identity() *Collate {
	if c == nil {
		return nil
	}
	return &Collate{Python: c.Python.Identity()}
}

// Check returns what is wrong, and the fields of a batch; nil: nobody has said what they
// are. Sized says that images come in sizes of their own, and are to be put into batches
// by these.
func (c *Collate) Check(in sample.Schema, sized bool) (sample.Schema, error) {
	var errs []error
	for _, err := range append(c.Python.CheckCall(in), c.Gives.Check(nil)) {
		errs = append(errs, argument.Inside("collate", err))
	}
	if sized {
		errs = append(errs, errors.New("has collate, which is given samples in their order, and cannot "+
			"follow resize_to_bucket, after which each batch has images of one size: use resize, or batch without collate"))
	}
	for _, f := range c.Gives.Schema {
		if f.Type.Kind == sample.Bytes {
			errs = append(errs, argument.Inside("collate", Wrong("gives",
				"has the field %q as bytes: a batch has arrays, text and objects; use an array of uint8", f.Name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c.Gives.Schema, nil
}

// CheckFailures refuses a policy that a function of whole batches cannot have.
func (c *Collate) CheckFailures(f *Failures) error {
	if f.OnError == "replace" {
		return errors.Join(f.Check(), Wrong("on_error",
			`is "replace": collate fails for a whole batch, and no other batch can replace it: use raise or skip`))
	}
	return nil
}

// Calls returns the traits of a step with its call of the function, if it has one.
func (c *Collate) Calls(t Traits) Traits {
	if c != nil {
		t.Call = &Call{Kind: CollateCall, Python: c.Python, Gives: &c.Gives}
	}
	return t
}

// shown is how people read it.
func (c *Collate) shown() string { return fmt.Sprintf("%q", c.Function) }
