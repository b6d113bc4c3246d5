package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/lookup"
	"github.com/headrace/headrace/shard/where"
	"github.com/headrace/headrace/shard/window"
	"github.com/headrace/headrace/tensor"
)

// ShardSet are the samples of files that hold many.
type ShardSet struct {
	Set  *shard.Dataset
	Room func(bytes int64) bool // reserves memory for decoded rows, if there is so much; nil: there is none

	args    *ReadShards
	rows    *order.Members  // that come; nil: all
	windows windowFields    // fields of several rows
	joins   joins           // fields of other tables
	plain   []int           // all other fields
	reader  *shard.Reader   // of these
	at      []record.Column // of the fields
	name    record.Column   // of the key
	places  sync.Pool       // of *shard.Place
}

// Early implements [source.Input].
func (*ReadShards) Early() bool { return true }

// Find implements [source.Input].
func (r *ReadShards) Find(ctx context.Context, _ []string, o shard.Options) (source.Found, error) {
	return openShards(ctx, r, o)
}

// openShards finds the samples that a step reads, and what their fields are, which it
// notes in the arguments.
func openShards(ctx context.Context, args *ReadShards, o shard.Options) (*ShardSet, error) {
	var from []string
	for _, p := range args.From {
		from = append(from, string(p))
	}
	o.Root, o.Format, o.Replaces = string(args.Root), args.Format, args.Errors == recipe.Replace
	set, err := shard.Open(ctx, from, o)
	if err != nil {
		return nil, err
	}
	s := &ShardSet{Set: set, args: args}
	if err := s.chooseRows(ctx); err != nil {
		set.Close()
		return nil, err
	}
	if err := s.choose(ctx, o); err != nil {
		set.Close()
		return nil, err
	}
	return s, nil
}

// chooseRows settles which samples come.
func (s *ShardSet) chooseRows(ctx context.Context) (err error) {
	if s.args.Rows == "" {
		return nil
	}
	s.rows, err = s.Set.Choose(ctx, s.args.Rows, s.args.MaxBytes)
	switch wrong := (*where.Error)(nil); {
	case errors.As(err, &wrong):
		return recipe.Wrong("rows", "%w", err)
	case err != nil:
		return err
	case s.rows.Len() == 0 && s.Set.Len() > 0:
		return recipe.Wrong("rows", "is true of none of %s: %s; a source needs at least one",
			words.Plural(s.Set.Len(), "sample"), s.args.Rows)
	}
	return nil
}

// lacks reports whether a sample that comes has no value of a column.
func (s *ShardSet) lacks(ctx context.Context, name string) (bool, error) {
	if s.rows == nil {
		return true, nil
	}
	null := where.Null{Column: where.Name{Text: name}}
	all, err := s.Set.Choose(ctx, "("+s.args.Rows+") and "+null.String(), s.args.MaxBytes)
	return err != nil || all.Len() > 0, ctx.Err()
}

// choose settles which fields are read, and as what.
func (s *ShardSet) choose(ctx context.Context, o shard.Options) error {
	fields := s.args.Fields
	if fields == nil {
		var err error
		lacks := func(name string) (bool, error) { return s.lacks(ctx, name) }
		if fields, err = usualFields(s.Set, lacks); err != nil {
			return err
		}
	}

	var err error
	if s.windows, err = s.args.openWindows(ctx, s.Set, fields); err != nil {
		return err
	}
	var columns []shard.Column
	for i, f := range fields {
		if w, _ := s.windows.find(i); w == nil {
			columns, s.plain = append(columns, f.Column()), append(s.plain, i)
		}
	}
	selected := s.Set.Select
	// If all fields are wanted, a record with another one is an error, too.
	if s.args.Fields == nil && s.windows == nil {
		selected = s.Set.SelectAll
	}
	if s.reader, err = selected(ctx, columns...); err != nil {
		return err
	}
	said := s.args.Gives.Schema
	s.args.Gives.Schema = nil
	types := make([]sample.Type, len(fields))
	for k, t := range s.reader.Types() {
		types[s.plain[k]] = t
	}
	types, names := s.windows.types(types, fields.Names())
	if s.joins, err = s.args.openJoins(ctx, s.Set, fields, names, o); err != nil {
		return err
	}
	types, names = s.joins.types(types, names)
	for i, t := range types {
		name := names[i]
		if k := said.Find(name); k >= 0 && !said[k].Type.Equal(t) {
			return fmt.Errorf("%w: gives says that %q is %v, and in the files it is %v", shard.ErrNoField, name, said[k].Type, t)
		}
		s.args.Gives.Schema = append(s.args.Gives.Schema, sample.Field{Name: name, Type: t})
	}
	if err := s.args.Gives.Schema.Check(); err != nil {
		return fmt.Errorf("%w: name the fields to read, as in fields={\"bytes\": \"jpg\"}", err)
	}
	return nil
}

// Away implements [source.Away].
func (s *ShardSet) Away() bool { return s.Set.Away() }

// Len implements [source.Contents].
func (s *ShardSet) Len() int64 { return s.Set.Len() }

// Chosen implements [source.Chosen].
func (s *ShardSet) Chosen() source.Selection {
	if s.rows == nil {
		return nil
	}
	return s.rows
}

// Blocks are where blocks of neighbours begin, of at least so many samples; nil: any
// sample is read by itself.
func (s *ShardSet) Blocks(least int64) (starts []int64, err error) {
	starts, err = s.reader.Blocks(least)
	for _, w := range s.windows {
		if starts == nil && err == nil {
			starts, err = w.Blocks(least)
		}
	}
	return starts, err
}

// Key implements [source.Contents]: it is the sample's name in its shard.
func (s *ShardSet) Key(index int64) string { return s.Set.Key(index) }

// Name returns a name that stays the sample's if shards are added: that which its shard
// has for it, or the shard's, as it was given, with its number in it.
func (s *ShardSet) Name(index int64) string { return s.Set.Name(index) }

// Link implements [source.Contents].
func (s *ShardSet) Link(_ *core.Env, _ *fuse.Source, _ sample.Schema, where *record.Columns) (*python.Function, error) {
	s.at = nil
	for _, f := range s.args.Gives.Schema {
		s.at = append(s.at, where.Of[f.Name])
	}
	s.name = record.Column{}
	if s.args.Gives.Schema.Find("key") < 0 {
		s.name = where.Of["key"]
	}
	return nil, nil
}

// Close implements [source.Found].
func (s *ShardSet) Close() { s.Set.Close() }

// Again implements [source.Found].
func (s *ShardSet) Again() source.Contents {
	return &ShardSet{Set: s.Set, args: s.args, rows: s.rows, windows: s.windows, joins: s.joins, plain: s.plain, reader: s.reader}
}

// Digest implements [source.Digested]. Those of tables that are looked up follow.
func (s *ShardSet) Digest() string { return s.Set.Digest() + s.joins.digest() }

// Changed implements [source.Digested].
func (s *ShardSet) Changed(was string) error {
	own, tables, _ := strings.Cut(was, lookedUp)
	if err := s.Set.Changed(own); err != nil {
		return err
	}
	if now := s.joins.digest(); now != "" && now != lookedUp+tables {
		return fmt.Errorf("%w: a table of lookup is another one now", shard.ErrChanged)
	}
	return nil
}

// ForBlocks is why bytes are reserved for what compressed shards have in common.
const ForBlocks budget.Purpose = "unpacked blocks"

// ForRows is why bytes are reserved for numbers of tables that are read out of order.
const ForRows budget.Purpose = "decoded rows"

// Fetch implements [source.Contents].
func (s *ShardSet) Fetch(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	n, err := source.Patiently(ctx, w, it, func() (int64, error) { return s.read(ctx, w, it) })
	if errors.Is(err, shard.ErrChanged) {
		err = pipe.Fatal(err) // what was indexed is not there any more
	}
	return n, err
}

func (s *ShardSet) read(ctx context.Context, w *core.Env, it *record.Record) (int64, error) {
	p, _ := s.places.Get().(*shard.Place)
	if p == nil {
		p = new(shard.Place)
	}
	defer s.places.Put(p)
	if err := s.reader.Locate(it.ID.Index, p); err != nil {
		return 0, err
	}
	own := (p.Bytes + 7) &^ 7
	bytes := own + s.windows.room()
	if bytes > s.args.MaxBytes {
		return 0, shard.TooLarge(bytes, s.args.MaxBytes)
	}

	var err error
	lane, of := it.Lane()
	if it.Content, err = lane.Acquire(ctx, w.Age(of), core.ForFiles, bytes); err != nil {
		return 0, err
	}
	if it.Limited {
		defer context.AfterFunc(ctx, it.Content.Park)()
	}
	v := w.Blank(it)
	buffer := v.Borrow(&w.Files, int(bytes))
	values, n, err := s.reader.Read(ctx, p, (*buffer)[:p.Bytes])
	if err != nil {
		return n, err
	}
	used := int64(0)
	for i, value := range values {
		used += int64(len(value.Bytes))
		s.put(w, v, *buffer, s.plain[i], value)
	}
	room := (*buffer)[own:]
	for _, f := range s.windows {
		value, mask, more, err := f.Read(ctx, it.ID.Index, room)
		if n += more; err != nil {
			return n, err
		}
		used += int64(len(value.Bytes) + len(mask.Bytes))
		s.put(w, v, *buffer, f.field, value)
		s.put(w, v, *buffer, f.pad, mask)
		room = room[f.Room():]
	}
	for _, j := range s.joins {
		row, more, err := j.Row(ctx, it.ID.Index)
		if n += more; err != nil {
			return n, err
		}
		for k := range j.names {
			s.put(w, v, *buffer, j.first+k, j.Value(k, row))
		}
	}
	atomic.AddInt64(&w.Counts.Shards.Read, n)
	atomic.AddInt64(&w.Counts.Shards.Used, used)
	if s.name.Kind != 0 {
		v.Texts[s.name.At] = it.Key
	}
	v.Sweep() // text and numbers leave nothing in the memory that was read
	return n, nil
}

// Size implements [source.Sized]: the bytes of the fields that are read, unpacked.
func (s *ShardSet) Size(index int64) (bytes int64, known bool) {
	var p shard.Place
	err := s.reader.Locate(index, &p)
	return p.Bytes + s.windows.room(), err == nil
}

// Columns implements [source.Table].
func (s *ShardSet) Columns(w *core.Env, columns []record.Column, near int64) (open func() (source.Gather, error), waits bool) {
	var of, to []int // columns of the reader, and which of the columns they are
	var around window.Columns
	found := make([][]lookup.Column, len(s.joins))
	for i, at := range columns {
		k := slices.Index(s.at, at)
		f, pad := s.windows.find(k)
		table, column := s.joins.find(k)
		switch {
		case at == s.name:
			of, to = append(of, shard.Keys), append(to, i)
		case k < 0:
			return nil, false
		case f != nil:
			around = into(around, f, pad, i)
		case table >= 0:
			found[table] = append(found[table], lookup.Column{Of: column, To: i})
		default:
			of, to = append(of, slices.Index(s.plain, k)), append(to, i)
		}
	}
	if all := s.Set.Len(); s.rows != nil && near > 0 { // there are others between those that come
		near = int64(min(float64(near)*float64(all)/float64(s.rows.Len()), float64(all)))
	}
	var rows *shard.Rows
	if bytes := 2 * near * int64(s.reader.RowBytes(of)); bytes > 0 && s.Room != nil && s.Room(bytes) {
		rows = s.reader.Rows(of, bytes)
	}
	return func() (source.Gather, error) {
		g, err := s.reader.Gatherer(of, s.args.MaxBytes, rows)
		if err != nil {
			return nil, err
		}
		others, err := s.joins.open(found)
		if err != nil {
			return nil, err
		}
		windows, err := around.Open()
		if err != nil {
			return nil, err
		}
		others = append(others, windows)
		own := make([]shard.Target, len(of))
		return func(ctx context.Context, samples []int64, into []shard.Target) error {
			for k, i := range to {
				own[k] = into[i]
			}
			n, err := g.Gather(ctx, samples, own)
			for _, more := range others {
				if err != nil {
					break
				}
				var read int64
				read, err = more(ctx, samples, into)
				n += read
			}
			if errors.Is(err, shard.ErrChanged) {
				err = pipe.Fatal(err) // what was indexed is not there any more
			}
			w.Reads.Add(int64(len(samples)))
			atomic.AddInt64(&w.Counts.Shards.Read, n)
			if n > 0 {
				pipe.AddBytes(ctx, n)
			}
			return err
		}, nil
	}, !s.reader.Indexed(of) || !around.Indexed() || !s.joins.indexed(found)
}

// put gives a field its value. What stays in memory of its own is in the buffer, or
// copied into such.
func (s *ShardSet) put(w *core.Env, v *record.Values, buffer []byte, field int, value shard.Value) {
	own := func(b []byte) []byte {
		if len(b) == 0 || record.Overlap(buffer, b) {
			return slices.Clip(b)
		}
		return w.Copied(v, b)
	}
	switch at := s.at[field]; at.Kind {
	case record.Numbers:
		copy(v.Numbers[at.At:][:at.Size], value.Bytes)
	case record.Texts:
		v.Texts[at.At] = string(value.Bytes)
	case record.Bytes:
		v.Bytes[at.At] = own(value.Bytes)
	case record.Images:
		f := recipe.ImageForm(sample.Type{Kind: sample.Tensor, DType: s.args.Gives.Schema[field].Type.DType,
			Shape: tensor.Shape(value.Shape), Axes: "HWC"[:len(value.Shape)]})
		pixels := v.NewImage(&w.Images, f) // which has room after its end
		copy(pixels.Data, value.Bytes)
		v.Images[at.At] = pixels
	case record.Arrays:
		v.Arrays[at.At] = record.Array{Shape: tensor.Shape(value.Shape), Data: own(value.Bytes)}
	}
}
