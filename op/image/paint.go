package image

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Paint is the colour of erased pixels, or "random".
type Paint struct {
	Fill
	Random bool
}

const random = "random"

// Takes implements [recipe.Taker].
func (p *Paint) Takes() string { return `a whole number, one for each channel, or "random"` }

// JSONSchema implements [recipe.Schemer].
func (p Paint) JSONSchema() map[string]any {
	said := p.Fill.JSONSchema()
	said["anyOf"] = append(said["anyOf"].([]any), map[string]any{"type": "string", "enum": []any{random}})
	return said
}

// IsZero is for JSON.
func (p Paint) IsZero() bool { return len(p.Fill) == 0 && !p.Random }

// MarshalJSON writes the word, a number or a list.
func (p Paint) MarshalJSON() ([]byte, error) {
	if p.Random {
		return json.Marshal(random)
	}
	return p.Fill.MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Paint) UnmarshalJSON(b []byte) error {
	if rawjson.Value(b).Kind() != rawjson.Text {
		n, err := argument.UnmarshalNumbers[int](b, p.Takes(), 1, 2, 3, 4)
		if err == nil {
			*p = Paint{Fill: n}
		}
		return err
	}
	var word string
	if err := json.Unmarshal(b, &word); err != nil || word != random {
		return fmt.Errorf("recipe: must be %s", p.Takes())
	}
	*p = Paint{Random: true}
	return nil
}

func (p Paint) paint() media.Paint { return media.Paint{Color: p.color(), Noise: p.Random} }

// check holds a colour against images of a schema.
func (p Paint) check(in sample.Schema, images []string) error {
	var errs []error
	for _, name := range images {
		if len(p.Fill) > 0 {
			errs = append(errs, p.fitsAs("value", recipe.ImageForm(in[in.Find(name)].Type)))
		}
	}
	return errors.Join(errs...)
}
