package headrace

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
)

// Config says how a recipe is run: for whom, how often, with how much. Its zero value
// runs endless epochs for one consumer, in input order, and stops at the first bad
// sample. docs/protocol.md states its JSON form.
type Config struct {
	// Epochs is how many epochs to run; nil: without end.
	Epochs *int `json:"epochs" min:"0" doc:"number of epochs; null: without end"`

	// Rank is this consumer among WorldSize that share the data; LocalWorldSize of them
	// share this machine. 0 means 1 in both.
	Rank           int `json:"rank"`
	WorldSize      int `json:"world_size"`
	LocalWorldSize int `json:"local_world_size"`

	// Part of Parts is the part of each epoch's order that this run is about: its places
	// from Part/Parts of them on, in whole batches. Parts 0 or 1: all. It is for one rank
	// and a recipe whose places can be counted: the parts, one after the other, are the
	// whole run. Where steps drop samples, batches have others; what a step gathers is of
	// one part.
	Part  int `json:"part"`
	Parts int `json:"parts"`

	// Workers is how many samples are in hand at once. At most the usable cores divided
	// by LocalWorldSize are worked on at a time; nil: one and a half times as many.
	Workers *int `json:"workers" min:"1" max:"256" doc:"samples in hand at once; null: one and a half times the usable cores"`

	// Order is the order in which batches take samples; "": InputOrder.
	Order Order `json:"order" choices:"input,completion"`

	// Memory is the budget for samples and batches, in bytes; nil: a quarter of what is
	// available, at most 2 GiB, divided by LocalWorldSize.
	Memory *int64 `json:"memory" unit:"bytes" min:"1"`

	// HoldLimit is how many bytes of batches the consumer may hold; nil: half of what is
	// available.
	HoldLimit *int64 `json:"hold_limit" unit:"bytes" min:"1"`

	// OnError is what happens to a bad sample; "": Raise.
	OnError OnError `json:"on_error" choices:"raise,skip,replace"`

	// MaxErrors is how many samples may be bad, with Skip and Replace; zero: 1 % of an
	// epoch, at least 10.
	MaxErrors MaxErrors `json:"max_errors"`

	// StepsPerEpoch is the number of batches in an epoch, or of [Info].Accumulate batches
	// each; nil: as many as there are.
	StepsPerEpoch *int `json:"steps_per_epoch" min:"1"`

	// Uneven says that ranks may have different numbers of batches.
	Uneven bool `json:"uneven"`

	// Agree says that the consumers of all ranks talk to each other: where ranks would
	// have different numbers of batches, [Info] says so, and an epoch ends for all when
	// the first has no more. Otherwise that is refused.
	Agree bool `json:"agree"`

	// StallAfter is for how many seconds nothing moves before Options.Warn says what is
	// waited for; 0: never; nil: 60.
	StallAfter *float64 `json:"stall_after" min:"0"`

	// Prefetch is how many batches are ready ahead of the consumer; nil: 2, and functions
	// of Python may be further ahead. Given, it bounds them too: when the consumer has
	// taken n batches, they were called for at most n + Prefetch batches, and for one
	// sample more for each of their workers. 0: a batch is begun when it is asked for.
	Prefetch *int `json:"prefetch" min:"0" max:"1000"`

	// Tune says whether the loader changes the workers of functions of Python while it
	// runs, of those that do not say how many they have, if that makes the consumer's
	// loop faster. Samples, order and state are the same.
	Tune bool `json:"tune" doc:"change the workers of functions while it runs, where that helps"`

	// Fuse says whether the operations on an image are one pass, from compressed bytes to
	// the row in the batch; nil: true. Otherwise each is a stage of its own, with
	// statistics of its own, which stores its pixels for the next: slower, to look for
	// what an operation does or costs. In exact mode the pixels are the same.
	Fuse *bool `json:"fuse" doc:"false: each operation on images runs by itself, with statistics of its own; null: true"`

	// JPEG is what decodes JPEG; "": HeadraceJPEG. The pixels are the same.
	JPEG JPEG `json:"jpeg" choices:"headrace,turbo"`

	// DeadLetters is a file that gets a line for each sample that is lost or replaced,
	// after what is in it; "": none.
	DeadLetters recipe.Path `json:"dead_letters"`

	// DeadLettersOwn says that a recipe has named DeadLetters, and not the user: the file
	// is a new one, whose name ends in .jsonl, or one of dead letters already.
	DeadLettersOwn bool `json:"dead_letters_own"`
}

// JPEG is what decodes JPEG.
type JPEG string

// The decoders of JPEG: Headrace's own, and libjpeg-turbo.
const (
	HeadraceJPEG JPEG = "headrace"
	TurboJPEG    JPEG = "turbo"
)

// Order is the order in which batches take samples.
type Order string

// The orders. InputOrder gives the same batches in every run; CompletionOrder lets fast
// samples pass slow ones.
const (
	InputOrder      Order = "input"
	CompletionOrder Order = "completion"
)

// MaxErrors bounds the samples lost in an epoch: by their number or their share.
type MaxErrors = recipe.MaxErrors

// ErrorCount bounds the losses of an epoch by their number.
func ErrorCount(n int) MaxErrors { return recipe.ErrorCount(n) }

// ErrorRate bounds the losses of an epoch by their share.
func ErrorRate(r float64) MaxErrors { return recipe.ErrorRate(r) }

// maxWorkers is the number of cells on the crash page (docs/protocol.md).
const maxWorkers = 256

// MostParts is the largest Config.Parts, far beyond what any array of jobs has.
const MostParts = 1 << 20

// mostStallAfter is a year.
const mostStallAfter = 365 * 24 * 3600

// Check returns every mistake of the configuration, joined, each a [*Mistake].
func (c Config) Check() error {
	c = c.withDefaults()
	var mistakes []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			key, _, _ := strings.Cut(format, " ")
			key, _, _ = strings.Cut(key, "=")
			mistakes = append(mistakes, &Mistake{Key: key, Err: fmt.Errorf(format, args...)})
		}
	}

	refuse(c.Epochs != nil && *c.Epochs < 0, "epochs is %d: must be at least 0, or null for endless epochs", deref(c.Epochs))
	refuse(c.WorldSize < 1, "world_size is %d: must be at least 1", c.WorldSize)
	refuse(c.Rank < 0 || c.Rank >= max(1, c.WorldSize), "rank is %d: must be from 0 to %d, because world_size is %d",
		c.Rank, c.WorldSize-1, c.WorldSize)
	refuse(c.LocalWorldSize < 1, "local_world_size is %d: must be at least 1", c.LocalWorldSize)
	refuse(c.Parts < 0 || c.Parts > MostParts, "parts is %d: must be from 1 to %d", c.Parts, MostParts)
	refuse(c.Part < 0 || c.Part >= max(1, c.Parts), "part is %d: must be from 0 to %d, because parts is %d",
		c.Part, max(1, c.Parts)-1, c.Parts)
	refuse(c.Parts > 1 && c.WorldSize > 1, "parts is %d and world_size %d: a part is one run's; use only one of them", c.Parts, c.WorldSize)
	refuse(c.Parts > 1 && c.StepsPerEpoch != nil, "steps_per_epoch is %d and parts %d: an epoch has all its samples "+
		"in its parts; use only one of them", deref(c.StepsPerEpoch), c.Parts)
	refuse(c.Workers != nil && (*c.Workers < 1 || *c.Workers > maxWorkers),
		"workers is %d: must be from 1 to %d, or null for the default", deref(c.Workers), maxWorkers)
	refuse(c.Order != InputOrder && c.Order != CompletionOrder, "order is %q: must be %q or %q", c.Order, InputOrder, CompletionOrder)
	refuse(c.JPEG != HeadraceJPEG && c.JPEG != TurboJPEG, "jpeg is %q: must be %q or %q", c.JPEG, HeadraceJPEG, TurboJPEG)
	refuse(c.OnError != Raise && c.OnError != Skip && c.OnError != Replace, "on_error is %q: must be %q, %q or %q",
		c.OnError, Raise, Skip, Replace)
	refuse(c.Memory != nil && *c.Memory < 1, "memory is %d: must be a number of bytes", deref(c.Memory))
	refuse(c.HoldLimit != nil && *c.HoldLimit < 1, "hold_limit is %d: must be a number of bytes", deref(c.HoldLimit))
	refuse(c.StepsPerEpoch != nil && *c.StepsPerEpoch < 1, "steps_per_epoch is %d: must be a number of batches, "+
		"or null for all that there are", deref(c.StepsPerEpoch))
	refuse(c.StallAfter != nil && !(*c.StallAfter >= 0 && *c.StallAfter <= mostStallAfter), "stall_after is %v: "+
		"must be from 0 (never) to %d seconds, or null for 60", deref(c.StallAfter), int(mostStallAfter))
	refuse(c.Prefetch != nil && (*c.Prefetch < 0 || *c.Prefetch > 1000), "prefetch is %d: "+
		"must be from 0, on demand, to 1000 batches, or null for the default", deref(c.Prefetch))
	refuse(c.OnError == Raise && c.MaxErrors.Given(), "max_errors has no meaning with on_error=%q: "+
		"the first bad sample stops the run; use on_error=%q or %q", Raise, Skip, Replace)
	bad := c.MaxErrors.Check()
	refuse(bad != nil, "max_errors %w", bad)

	// Ranks that lose different samples would yield different numbers of batches, and the
	// collective operations of training would hang.
	refuse(c.Uneven && c.StepsPerEpoch != nil, "steps_per_epoch is %d, the same on every rank, "+
		"and uneven says that ranks may differ: use only one of them", deref(c.StepsPerEpoch))
	refuse(c.OnError == Skip && c.mustAgree(), "on_error=%q with world_size %d: ranks could "+
		"yield different numbers of batches; use on_error=%q, or %s", Skip, c.WorldSize, Replace, compile.Remedy)

	return errors.Join(mistakes...)
}

// mustAgree tells whether ranks must yield as many batches, and nothing else makes them.
func (c Config) mustAgree() bool {
	return c.WorldSize > 1 && c.StepsPerEpoch == nil && !c.Uneven && !c.Agree
}

// agrees tells whether ranks end an epoch with the one that has the fewest batches.
func (c Config) agrees() bool {
	return c.WorldSize > 1 && c.StepsPerEpoch == nil && !c.Uneven && c.Agree
}

func (c Config) terms() compile.Terms {
	return compile.Terms{Policies: core.Policies{OnError: c.OnError, MaxErrors: c.MaxErrors}, World: c.WorldSize, Agree: c.mustAgree()}
}

func (c Config) withDefaults() Config {
	c.WorldSize, c.LocalWorldSize = cmp.Or(c.WorldSize, 1), cmp.Or(c.LocalWorldSize, 1)
	c.JPEG, c.Order, c.OnError = cmp.Or(c.JPEG, HeadraceJPEG), cmp.Or(c.Order, InputOrder), cmp.Or(c.OnError, Raise)
	if c.Prefetch == nil {
		c.Prefetch = new(2)
	}
	return c
}

// epochsFrom is the number of epochs left to run when epoch is the first; negative:
// without end.
func (c Config) epochsFrom(epoch int) int {
	if c.Epochs == nil {
		return -1
	}
	return max(0, *c.Epochs-epoch)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
