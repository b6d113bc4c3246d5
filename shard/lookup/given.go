package lookup

import (
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
)

// Given is a column that is in memory already.
type Given struct {
	Name  string
	Type  sample.Type // of one shape
	Data  []byte      // numbers, row after row
	Texts []string
	Null  []byte // the value of keys that the table does not have, of an array each number; nil: it has none
}

func (c *Given) values() (v values, err error) {
	if c.Type.Kind != sample.Tensor {
		for _, text := range c.Texts {
			v.add([]byte(text))
		}
		return v, nil
	}
	size, err := c.Type.Shape.Bytes(c.Type.DType)
	return values{size: int(size), data: c.Data}, err
}

// Of returns the table of columns with so many rows. With nulls, keys that it does not
// have are found too.
func Of(key Given, columns []Given, rows int, nulls bool) (*Table, error) {
	t := &Table{unknown: -1, name: "the table", key: key.Type}
	if as, err := keyType(key.Name, key.Type); err != nil {
		return nil, err
	} else if !as.Equal(key.Type) {
		return nil, fmt.Errorf("%w: %q is %v: give keys as int64 or text", shard.ErrUnsupported, key.Name, key.Type)
	}
	by, err := key.values()
	if err != nil {
		return nil, err
	}
	place := func(row int) string { return fmt.Sprintf("row %d of the table", row) }
	if err := t.keys.of(&by, rows, place); err != nil {
		return nil, err
	}

	for _, c := range columns {
		v, err := c.values()
		if err != nil {
			return nil, err
		}
		t.Types, t.columns = append(t.Types, c.Type), append(t.columns, v)
	}
	if nulls {
		for k := range t.columns {
			t.columns[k].addNull(columns[k].Null)
		}
		t.unknown = rows
	}
	return t, nil
}
