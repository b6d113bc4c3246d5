package recipe

import (
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
)

// Holder is implemented by arguments that are in a struct of another type: one that knows
// nothing of recipes. Package headrace registers operations whose own fields are their
// arguments in this way. A Holder writes itself as JSON, as the struct would.
type Holder interface {
	Args
	// Held returns a pointer to the struct, whose fields have the tags of arguments.
	Held() any
}

// Batcher is implemented by arguments of operations from elsewhere that make batches:
// samples of one class come together.
type Batcher interface {
	Args
	// DropsLast tells whether to leave out batches that are not full when an epoch ends.
	DropsLast() bool
}

// MostSamples bounds a source, so that the number of a sample among those of all sources
// is exact in every language that reads JSON.
const MostSamples = 1 << 48

// MostRows is the most rows of a batch.
const MostRows = math.MaxInt32

// Schemer is implemented by types of arguments that say themselves, as a JSON Schema,
// what they are written as.
type Schemer interface {
	JSONSchema() map[string]any
}

// Taker is implemented by types of arguments that say themselves, for messages, what they
// are written as: "a number, or [least, greatest]".
type Taker interface {
	Takes() string
}

// CheckTags holds arguments against the tags of their fields: `choices`, `min` and `max`,
// and `required`, which only a pointer or a list can lack. It is for operations from
// elsewhere, so that what the schema of a recipe says is true of them.
func CheckTags(args any) error { return argument.CheckTags(args) }

// ObjectSchema returns the JSON Schema of an object that is read into a struct. Of the
// fields' tags it reads `json`, `doc`, `required`, `choices`, `min`, `max` (of a list: of
// its length), `example`, and `unit`: what is in bytes may have a unit. Wherever
// something else than text is accepted, a variable may be.
func ObjectSchema(pointer any) map[string]any { return jsonschema.Object(pointer) }
