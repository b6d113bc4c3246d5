package input

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/lookup"
	"github.com/headrace/headrace/tensor"
)

// checkTable returns an error if columns are not a table that can be looked up.
func checkTable(columns recipe.Columns) error {
	rows := -1
	for i := range columns {
		c := &columns[i]
		switch {
		case rows < 0:
			rows = c.Len()
		case c.Len() != rows:
			return recipe.Wrong("columns", "has %d values of %q, and %d of %q: give equally many", c.Len(), c.Name, rows, columns[0].Name)
		}
		if t := c.Type(); t.Kind == sample.Tensor && !t.Fixed() {
			return recipe.Wrong("columns", "has %q, which is %v: arrays have one shape", c.Name, t)
		}
	}
	return errors.Join(columns.Check(rows, nil)...)
}

// digestOf tells whether columns are other ones.
func digestOf(columns recipe.Columns) string {
	h := sha256.New()
	columns.Digest(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// givenTable returns the table of columns, with some of these as fields.
func givenTable(columns recipe.Columns, key string, fields []shard.Column, nulls bool) (*lookup.Table, error) {
	var names []string
	for i := range columns {
		names = append(names, columns[i].Name)
	}
	at := slices.Index(names, key)
	if at < 0 {
		return nil, fmt.Errorf("%w: name that with the keys, as in \"key\": %q", words.Unknown("column", key, names), names[0])
	}
	var all []lookup.Given
	for _, f := range fields {
		i := slices.Index(names, f.From)
		if i < 0 {
			return nil, words.Unknown("column", f.From, names)
		}
		c, err := givenAs(&columns[i], f, nulls)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.From, err)
		}
		all = append(all, c)
	}
	return lookup.Of(given(&columns[at]), all, columns[at].Len(), nulls)
}

// givenAs returns a column as a field.
func givenAs(c *recipe.Column, f shard.Column, nulls bool) (g lookup.Given, err error) {
	g = given(c)
	if f.IsNull {
		return lookup.Given{Name: g.Name, Type: sample.TensorType(tensor.Bool), Data: make([]byte, c.Len()), Null: []byte{1}}, nil
	}
	if f.Type.Kind != 0 && !f.Type.Equal(g.Type) {
		return g, fmt.Errorf("it is %v, and %v is asked for: convert the array that you give", g.Type, f.Type)
	}
	if !nulls {
		return g, nil
	}
	f.Type = g.Type
	null, err := f.NullValue()
	g.Null = null.Bytes
	return g, err
}

// given returns a column with all its values.
func given(c *recipe.Column) lookup.Given {
	g := lookup.Given{Name: c.Name, Type: c.Type()}
	for i := range c.Len() {
		if g.Type.Kind == sample.Tensor {
			g.Data = append(g.Data, c.Number(i)...)
		} else {
			g.Texts = append(g.Texts, c.Text(i))
		}
	}
	return g
}
