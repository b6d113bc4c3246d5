// Package lookup joins a small table by key: a sample gets the values of the row that has
// its key.
package lookup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
)

// Table is a table in memory, whose rows are found by their key.
type Table struct {
	Types []sample.Type // of its columns

	name    string      // for messages
	key     sample.Type // as the table has it
	keys    keys
	columns []values
	unknown int // the row of keys that the table does not have; -1: there is none
}

// values has a column, row after row.
type values struct {
	size  int // of a row; 0: they are texts
	data  []byte
	texts sample.Texts
}

// mostBytes is the most memory that a table may take.
const mostBytes = 1 << 30

// rowsAtOnce rows are read, or looked up, together.
const rowsAtOnce = 4096

// Read reads columns of all rows of a set, of which one may have so many bytes. With
// nulls, keys that it does not have are found too, with the values for null.
func Read(ctx context.Context, set *shard.Dataset, key shard.Column, columns []shard.Column, nulls bool, most int64) (*Table, error) {
	t := &Table{unknown: -1}
	t.name, _ = set.Place(0)
	by, err := set.Select(ctx, key)
	if err != nil {
		return nil, err
	}
	t.key = by.Types()[0]
	if key.Type, err = keyType(key.From, t.key); err != nil {
		return nil, fmt.Errorf("%w; write the column %q of %s again as int64", err, key.From, t.name)
	}

	r, err := set.Select(ctx, append([]shard.Column{key}, columns...)...)
	if err != nil {
		return nil, err
	}
	t.Types = r.Types()[1:]
	for k, is := range t.Types {
		if is.Kind != sample.Text && is.Kind != sample.Bytes && !is.Fixed() {
			return nil, fmt.Errorf("%w: %q is %v: a column that is looked up has text, bytes, numbers or arrays of one shape",
				shard.ErrUnsupported, columns[k].From, is)
		}
	}
	if err := t.read(ctx, set, r, most); err != nil {
		return nil, err
	}
	if nulls {
		return t, t.addNulls(r, columns, int(set.Len()))
	}
	return t, nil
}

// keyType returns the type that keys are compared as.
func keyType(name string, is sample.Type) (sample.Type, error) {
	switch {
	case is.Kind == sample.Text && len(is.Shape) == 0:
		return sample.TextType, nil
	case is.Kind == sample.Tensor && len(is.Shape) == 0 && isWhole(is.DType):
		return sample.TensorType(tensor.Int64), nil
	}
	return is, fmt.Errorf("%w: %q is %v: a key is a whole number or text", shard.ErrUnsupported, name, is)
}

func isWhole(d tensor.DType) bool {
	switch d {
	case tensor.Bool, tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
		return false
	}
	return true
}

// read reads all rows.
func (t *Table) read(ctx context.Context, set *shard.Dataset, r *shard.Reader, most int64) error {
	numbers := make([]int, len(t.Types)+1)
	for k := range numbers {
		numbers[k] = k
	}
	g, err := r.Gatherer(numbers, most, nil)
	if err != nil {
		return err
	}
	into := make([]shard.Target, len(numbers))
	all := make([]values, len(numbers))
	for k, is := range r.Types() {
		if is.Kind == sample.Tensor {
			size, err := is.Shape.Bytes(is.DType)
			if err != nil {
				return err
			}
			all[k].size = int(size)
		}
	}

	rows := make([]int64, 0, rowsAtOnce)
	for from := int64(0); from < set.Len(); from += int64(len(rows)) {
		rows = rows[:0]
		for i := from; i < min(from+rowsAtOnce, set.Len()); i++ {
			rows = append(rows, i)
		}
		bytes := 0
		for k := range all {
			into[k] = all[k].room(len(rows))
			bytes += len(all[k].data) + len(all[k].texts.Bytes)
		}
		if bytes > mostBytes {
			return fmt.Errorf("%w: %s has more than %d bytes: a table that is looked up is in memory, so choose columns with fields",
				shard.ErrUnsupported, t.name, mostBytes)
		}
		if _, err := g.Gather(ctx, rows, into); err != nil {
			return err
		}
	}
	t.columns = all[1:]
	return t.keys.of(&all[0], int(set.Len()), t.place(set))
}

// place names a row, for messages.
func (t *Table) place(set *shard.Dataset) func(row int) string {
	return func(row int) string {
		shard, in := set.Place(int64(row))
		return fmt.Sprintf("%s, row %d", shard, in)
	}
}

// room makes room for more rows.
func (v *values) room(rows int) shard.Target {
	if v.size == 0 {
		return shard.Target{Texts: &v.texts}
	}
	n := len(v.data)
	v.data = append(v.data, make([]byte, rows*v.size)...)
	return shard.Target{Data: v.data[n:]}
}

// addNulls appends a row of nulls.
func (t *Table) addNulls(r *shard.Reader, columns []shard.Column, rows int) error {
	for k := range t.columns {
		v := &t.columns[k]
		null, err := r.Null(k + 1)
		if err != nil {
			return fmt.Errorf("field %q: %w", columns[k].From, err)
		}
		v.addNull(null.Bytes)
	}
	t.unknown = rows
	return nil
}

// addNull appends a row without a value.
func (v *values) addNull(null []byte) {
	if v.size == 0 {
		v.add(null)
		return
	}
	for n := 0; n < v.size; n += len(null) { // of an array, each number
		v.data = append(v.data, null...)
	}
}

func (v *values) add(text []byte) {
	v.texts.Bytes = append(v.texts.Bytes, text...)
	v.texts.Ends = append(v.texts.Ends, len(v.texts.Bytes))
}

// of returns the bytes of a row.
func (v *values) of(row int) []byte {
	if v.size > 0 {
		return v.data[row*v.size:][:v.size:v.size]
	}
	from := 0
	if row > 0 {
		from = v.texts.Ends[row-1]
	}
	to := v.texts.Ends[row]
	return v.texts.Bytes[from:to:to]
}

// keys find rows.
type keys struct {
	text  map[string]int32
	whole map[int64]int32
	least int64
	dense []int32 // by whole number, from least on: the row, and 1; nil: they are far apart
}

// ErrTwice refuses tables with a key that comes twice.
var ErrTwice = errors.New("two rows have the same key")

// of notes the rows of keys.
func (k *keys) of(v *values, rows int, place func(row int) string) error {
	if rows > math.MaxInt32 {
		return fmt.Errorf("%w: %d rows", shard.ErrUnsupported, rows)
	}
	if v.size == 0 {
		k.text = make(map[string]int32, rows)
	} else {
		k.whole = make(map[int64]int32, rows)
	}
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for row := range rows {
		b := v.of(row)
		was, twice := int32(0), false
		if v.size == 0 {
			was, twice = k.text[string(b)]
			k.text[string(b)] = int32(row)
		} else {
			n := int64(binary.NativeEndian.Uint64(b))
			was, twice = k.whole[n]
			k.whole[n] = int32(row)
			least, most = min(least, n), max(most, n)
		}
		if twice {
			return fmt.Errorf("%w, %s:\n%s\n%s", ErrTwice, k.show(v, row), place(int(was)), place(row))
		}
	}

	// Numbers that are close to each other are found without a hash.
	if span := uint64(most - least); k.whole != nil && rows > 0 && span < uint64(4*rows+1024) {
		k.least, k.dense = least, make([]int32, span+1)
		for n, row := range k.whole {
			k.dense[n-least] = row + 1
		}
		k.whole = nil
	}
	return nil
}

// show is a key in messages.
func (k *keys) show(v *values, row int) string {
	if v.size == 0 {
		return fmt.Sprintf("%.60q", v.of(row))
	}
	return fmt.Sprint(int64(binary.NativeEndian.Uint64(v.of(row))))
}
