package column

import (
	"fmt"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Step is implemented by the arguments of steps on columns.
type Step interface {
	recipe.Args
	// columns returns what the step makes of the fields of samples, which may be batches,
	// with a row for each sample.
	columns(in sample.Schema, batches bool) ([]Column, error)
}

// Column is a field that a step makes of others.
type Column struct {
	From []string
	To   string
	In   []sample.Type // of From
	Type sample.Type

	// Of each line of From[0], as many bytes, a line of so many bytes is made. A text is
	// a line.
	InLine, OutLine int

	fill fill
}

// Values has the values of a field: of a sample, of a batch, or of the rows of one.
type Values struct {
	Data  []byte // of numbers, one after the other
	Texts sample.Texts
}

// fill sets all of to. It allocates nothing.
type fill func(to []byte, from []Values) *Bad

// Bad names the line for which a field cannot be made.
type Bad struct {
	From int // of which field it is made
	Line int // which line of that is to blame
	Err  error
}

// Lines returns the number of lines that the values of From[0] are.
func (c *Column) Lines(from []Values) int {
	if c.In[0].Kind == sample.Text {
		return from[0].Texts.Len()
	}
	return len(from[0].Data) / c.InLine
}

// Fill makes the values of the field, which to has room for.
func (c *Column) Fill(to []byte, from []Values) *Bad { return c.fill(to, from) }

// Wrong returns the error about a value. Row is its row in a batch; -1: it is in none.
func (c *Column) Wrong(b *Bad, row int) error {
	if row < 0 {
		return fmt.Errorf("headrace: the field %q %w", c.From[b.From], b.Err)
	}
	return fmt.Errorf("headrace: the field %q of row %d %w", c.From[b.From], row, b.Err)
}

// check returns the schema after a step.
func check(s Step, in sample.Schema, batches bool) (sample.Schema, error) {
	all, err := s.columns(in, batches)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		in = c.after(in)
	}
	return in, nil
}

// after is the schema with the field, instead of those that it is made of.
func (c *Column) after(in sample.Schema) sample.Schema {
	out := in.Replace(c.From[0], sample.Field{Name: c.To, Type: c.Type})
	for _, name := range c.From[1:] {
		out = out.Without(name)
	}
	return out
}
