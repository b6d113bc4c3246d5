package record

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// A field has one column on all edges; those of different fields or types never touch,
// and all are within the room that records have.
func TestColumnsAreApart(t *testing.T) {
	image := sample.TensorType(tensor.Uint8, 2, 2, 3)
	image.Axes = "HWC"
	types := []sample.Type{
		sample.TextType, sample.BytesType, sample.ObjectType, image, sample.TensorType(tensor.Int64), sample.TensorType(tensor.Uint8),
		sample.TensorType(tensor.Float32, 3), sample.TensorType(tensor.Bool, 2, 2),
	}
	rapid.Check(t, func(rt *rapid.T) {
		edges := []*Columns{{Of: map[string]Column{}, Table: NewTable()}}
		known := map[string]Column{}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			p := rapid.SampledFrom(edges).Draw(rt, "edge")
			name, typ := rapid.StringMatching("[abc]").Draw(rt, "name"), rapid.SampledFrom(types).Draw(rt, "type")
			var at Column
			switch rapid.SampledFrom([]string{"put", "any", "like", "take", "branch"}).Draw(rt, "step") {
			case "put":
				at = p.Put(name, typ)
			case "any":
				if at = p.PutAny(name, typ); typ.Axes == "" && len(typ.Shape) > 0 && at.Kind != Arrays {
					rt.Fatalf("%v of any memory is %+v", typ, at)
				}
			case "like":
				from, ok := p.Of[rapid.StringMatching("[abc]").Draw(rt, "from")]
				if !ok {
					continue
				}
				if at = p.PutLike(name, from); at.Kind != from.Kind || at.Size != from.Size {
					rt.Fatalf("%+v is not like %+v", at, from)
				}
			case "take":
				want, there := p.Of[name]
				if got := p.Take(name); got != want || there != (got.Kind != 0) || p.Of[name].Kind != 0 {
					rt.Fatalf("%s was taken as %+v", name, got)
				}
				continue
			case "branch":
				b := p.Branch()
				if edges = append(edges, &b); b.Fresh != nil {
					rt.Fatal("a branch begins with fresh fields")
				}
				b.Of["only here"] = Column{Kind: Texts}
				if _, there := p.Of["only here"]; there {
					rt.Fatal("a branch writes into its trunk")
				}
				delete(b.Of, "only here")
				continue
			}
			if p.Of[name] != at || !slices.Contains(p.Fresh, name) {
				rt.Fatalf("%s has no column", name)
			}
			key := fmt.Sprint(name, at.Kind, at.Size)
			if before, ok := known[key]; ok && before != at {
				rt.Fatalf("%s is %+v, and was %+v", key, at, before)
			}
			known[key] = at
		}
		taken := map[string]string{}
		for key, at := range known {
			room := map[Kind]int{Numbers: edges[0].Room.Numbers, Texts: edges[0].Room.Texts, Bytes: edges[0].Room.Bytes,
				Images: edges[0].Room.Images, Arrays: edges[0].Room.Arrays}[at.Kind]
			for i := range max(1, at.Size) {
				place := fmt.Sprint(at.Kind, at.At+i)
				if other, ok := taken[place]; ok || at.At+i >= room {
					rt.Fatalf("%s of %d is that of %s and %q", place, room, key, other)
				}
				taken[place] = key
			}
		}
	})
}

// Rows in one value are what was put in; and bytes from elsewhere are rows, or are found
// not to be.
func TestRowsInOneValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOf(rapid.String()).Draw(rt, "rows")
		packed, err := PackRows(rows)
		if n, ok := CountRows(packed); err != nil || !ok || n != len(rows) || !slices.Equal(UnpackRows(packed), rows) {
			rt.Fatalf("%q becomes %q: %v", rows, UnpackRows(packed), err)
		}
		hostile := []byte(packed)
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			hostile[rapid.IntRange(0, len(hostile)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		hostile = hostile[:rapid.IntRange(0, len(hostile)).Draw(rt, "length")]
		n, ok := CountRows(hostile)
		if !ok {
			return
		}
		var all []string
		for i := range n {
			all = append(all, string(Row(hostile, i)))
		}
		if again, err := PackRows(all); err != nil || again != string(hostile) {
			rt.Fatalf("%q has the rows %q, which are %q", hostile, all, again)
		}
	})
	if n, ok := CountRows(NoRows); n != 0 || !ok {
		t.Error("no rows are none")
	}
	if n, ok := CountRows("\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00x"); ok {
		t.Errorf("%d rows, of which the first begins late", n)
	}
	if none, err := PackRows(nil); none != NoRows || err != nil {
		t.Errorf("%q", none)
	}
}
