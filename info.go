package headrace

import (
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
)

// Info is what is known of a loader before it runs.
type Info struct {
	Fields          []Field  `json:"fields"`
	Rows            int      `json:"rows"`       // of a full batch; of one that is made whole the samples
	SlotBytes       int      `json:"slot_bytes"` // of a batch
	Samples         int64    `json:"samples"`    // in all sources; -1, here and in what follows from it: nobody knows
	Sources         []Source `json:"sources"`    // in the order of the recipe
	SamplesPerEpoch int64    `json:"samples_per_epoch"`
	BatchesPerEpoch int64    `json:"batches_per_epoch"` // -1: not bounded
	Exact           bool     `json:"exact"`             // BatchesPerEpoch is a count, not a bound
	Grouped         bool     `json:"grouped,omitempty"` // samples come into batches by what they are: Rows is the most of one
	Agree           bool     `json:"agree,omitempty"`   // with Config.Agree: ranks may have different numbers of batches
	Ranks           string   `json:"ranks"`             // for people: what another number of ranks changes
	// places of the epoch's order that a global batch takes, if it follows from a batch's
	// number which samples it has; 0: it does not
	Places     int64 `json:"places,omitempty"`
	Accumulate int   `json:"accumulate"` // batches that are this rank's part of a global batch, one after the other
	// a function of Python makes batches of their samples: shapes are of the whole
	// batch, and text is one for all
	Whole     bool          `json:"whole,omitempty"`
	Single    bool          `json:"single,omitempty"`  // no step makes batches: each is one sample, whose fields they are
	Tuple     bool          `json:"tuple,omitempty"`   // samples are tuples without names, whose values are all fields in their order
	Classes   []recipe.Path `json:"classes,omitempty"` // names of labels, where they have any
	Epochs    *int          `json:"epochs"`
	Decoder   string        `json:"decoder"`
	Workers   int           `json:"workers"`
	HoldLimit int64         `json:"hold_limit"`
	Pipeline  string        `json:"pipeline"` // for people
	Stages    []Stage       `json:"stages"`   // in the order in which samples pass them
	State     State         `json:"state"`    // the beginning
}

// Stage is what runs as one: it has a line of its own in the statistics, under the same
// name.
type Stage struct {
	Name string `json:"name"`
	// the recipe's steps that it carries out, by their names; none: it reads files, or
	// waits for memory to decode
	Steps   []string `json:"steps"`
	Workers int      `json:"workers"` // samples in hand at once
}

// Source is where samples come from.
type Source struct {
	Name            string `json:"name"`              // of its step
	Samples         int64  `json:"samples"`           // in it
	SamplesPerEpoch int64  `json:"samples_per_epoch"` // of them, this rank's share
	// the number of its first sample where those of all sources are numbered, one
	// source after the other
	First int64 `json:"first"`
}

// Decoder names what decodes each format here: "avif=libavif bmp=go …". Pixels depend on
// it, so it is a part of every state.
func Decoder() string { return decoderOf(media.Options{}) }

func decoderOf(o media.Options) string {
	var names []string
	for _, format := range media.Formats() {
		if d, err := o.Decoder(format); err == nil {
			names = append(names, format+"="+d.Name())
		}
	}
	return strings.Join(names, " ")
}
