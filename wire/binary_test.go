package wire

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

func drawBatch(r *rapid.T) *Batch {
	b := &Batch{
		Segment: rapid.Uint32().Draw(r, "segment"), Slot: rapid.Uint32().Draw(r, "slot"),
		Rows:  uint32(rapid.IntRange(0, 40).Draw(r, "rows")),
		Flags: rapid.Uint32().Draw(r, "flags") &^ textBeside, Step: rapid.Int64().Draw(r, "step"), Epoch: rapid.Int64().Draw(r, "epoch"),
		StateEpoch: rapid.Int64().Draw(r, "state epoch"), Extents: rapid.SliceOfN(rapid.Uint32(),
			0, 3).Draw(r, "extents"), Place: rapid.SliceOf(rapid.Byte()).Draw(r, "place"),
	}
	for range rapid.IntRange(0, 3).Draw(r, "fields") {
		field := make([]string, b.Rows)
		for i := range field {
			field[i] = string(rapid.SliceOf(rapid.Byte()).Draw(r, "text"))
		}
		b.Text = append(b.Text, field)
	}
	return b
}

func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := drawBatch(r)
		sent := *b
		sent.Text = slices.Clone(b.Text)
		for i, field := range b.Text { // packed or by rows, texts are the same
			var all Packed
			if len(field) > 0 && rapid.Bool().Draw(r, "packed") {
				for _, text := range field {
					all.Bytes = append(all.Bytes, text...)
					all.Ends = append(all.Ends, len(all.Bytes))
				}
				sent.Text[i] = nil
			}
			sent.Packed = append(sent.Packed, all)
		}
		text := sent.AppendText(nil)
		if len(text) != sent.TextSize() {
			r.Fatalf("%d bytes of text were announced as %d", len(text), sent.TextSize())
		}
		if rapid.Bool().Draw(r, "beside") {
			b.Beside = &Beside{Slot{rapid.Uint32().Draw(r, "its segment"), rapid.Uint32().Draw(r, "its slot")}, uint32(len(text))}
			sent.Beside = b.Beside
		}
		got, err := ParseBatch(AppendBatch(nil, &sent), len(b.Text), len(b.Extents))
		if err != nil {
			r.Fatal(err)
		}
		if got.Beside != nil {
			if err := got.ParseText(text, len(b.Text)); err != nil {
				r.Fatal(err)
			}
		}
		if d := cmp.Diff(b, got, cmpopts.EquateEmpty()); d != "" {
			r.Fatal(d)
		}
	})
}

// drawCounted returns the names of some rows by runs.
func drawCounted(r *rapid.T, rows uint32) (c Counted) {
	c.Names = rapid.SliceOfN(rapid.String(), 1, 3).Draw(r, "names")
	for until := uint32(0); until < rows; {
		until += rapid.Uint32Range(1, rows-until).Draw(r, "run")
		c.Until = append(c.Until, until)
		c.First = append(c.First, rapid.Int64().Draw(r, "first"))
		c.Named = append(c.Named, uint32(rapid.IntRange(0, len(c.Names)-1).Draw(r, "named")))
	}
	return c
}

// Names that are counted come as they were sent, beside other fields.
func TestCountedRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := drawBatch(r)
		for i := range b.Text {
			b.Packed = append(b.Packed, Packed{})
			if b.Rows > 0 && rapid.Bool().Draw(r, "counted") {
				b.Text[i], b.Packed[i].Counted = nil, drawCounted(r, b.Rows)
			}
		}
		p := AppendBatch(nil, b)
		got, err := ParseBatch(p, len(b.Text), len(b.Extents))
		if err != nil {
			r.Fatal(err)
		}
		got.Packed = append(got.Packed, make([]Packed, len(b.Packed)-len(got.Packed))...)
		if d := cmp.Diff(b, got, cmpopts.EquateEmpty()); d != "" {
			r.Fatal(d)
		}
	})
}

// Runs that cannot be are errors of the protocol.
func TestCountedIsChecked(t *testing.T) {
	good := func() Counted {
		return Counted{Names: []string{"a", "bc"}, First: []int64{7, 0}, Until: []uint32{2, 3}, Named: []uint32{0, 1}}
	}
	for name, harm := range map[string]func(*Counted){
		"until":        func(c *Counted) { c.Until[1] = 2 },
		"beyond":       func(c *Counted) { c.Until[1] = 4 },
		"too few":      func(c *Counted) { c.First, c.Until, c.Named = c.First[:1], c.Until[:1], c.Named[:1] },
		"no such name": func(c *Counted) { c.Named[0] = 2 },
	} {
		c := good()
		harm(&c)
		p := AppendBatch(nil, &Batch{Rows: 3, Text: [][]string{nil}, Packed: []Packed{{Counted: c}}})
		if _, err := ParseBatch(p, 1, 0); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}

	p := AppendBatch(nil, &Batch{Rows: 3, Text: [][]string{nil}, Packed: []Packed{{Counted: good()}}})
	names := len(p) - len("abc") - 2*4
	for at, value := range map[int]byte{names: 9, names + 4: 0, batchFixed + 4: 200} { // ends of names, runs
		bad := slices.Clone(p)
		bad[at] = value
		if _, err := ParseBatch(bad, 1, 0); !errors.Is(err, ErrProtocol) {
			t.Errorf("%d at %d: %v", value, at, err)
		}
	}
	binary.LittleEndian.PutUint32(p[names+4:], 2) // a byte of the names belongs to none
	if _, err := ParseBatch(p, 1, 0); !errors.Is(err, ErrProtocol) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestNextRoundTrip(t *testing.T) {
	var got Next // used again, as the session does
	rapid.Check(t, func(r *rapid.T) {
		n := Next{Taken: rapid.Uint32().Draw(r, "taken"), Waiting: rapid.Bool().Draw(r, "waiting"),
			Waited: rapid.Uint32().Draw(r, "waited"), Main: rapid.Uint32().Draw(r, "main")}
		for range rapid.IntRange(0, 10).Draw(r, "slots") {
			n.Released = append(n.Released, Slot{rapid.Uint32().Draw(r, "segment"), rapid.Uint32().Draw(r, "slot")})
		}
		if err := ParseNext(AppendNext(nil, n), &got); err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(n, got, cmpopts.EquateEmpty()); d != "" {
			r.Fatal(d)
		}
	})
}

// The field that may be left out is of the length that is announced, and never 0.
func TestNextIsChecked(t *testing.T) {
	good := AppendNext(nil, Next{Main: 7, Released: []Slot{{1, 2}}})
	zero := slices.Clone(good)
	zero[len(zero)-4] = 0
	for name, p := range map[string][]byte{
		"no field": good[:len(good)-4], "part of it": good[:len(good)-1], "more": append(slices.Clone(good), 0),
		"0": zero, "none": good[:8],
	} {
		if err := ParseNext(p, new(Next)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGolden pins the bytes. The Python client's tests read the same file, so neither
// side can drift alone.
func TestGolden(t *testing.T) {
	const path = "testdata/golden.txt"
	batch := &Batch{Segment: 1, Slot: 2, Rows: 3, Flags: Unpooled, Step: 4, Epoch: 5, StateEpoch: 6, Extents: []uint32{480, 640},
		Place: []byte(`{"sources":{"files":{"samples":20,"position":7,"ahead":[[8,9],[11,15]]}}}`),
		Text:  [][]string{{"a/1.jpg", "", "b/\xff.jpg"}, {"x", "yy", "zzz"}}}
	counted := &Batch{Segment: 1, Rows: 4, Text: [][]string{nil, {"x", "", "yy", "zzz"}}, Packed: []Packed{{Counted: Counted{
		Names: []string{"a.parquet", "b/\xff.parquet"}, First: []int64{8, 1 << 40, 0}, Until: []uint32{2, 3, 4}, Named: []uint32{0, 1, 0},
	}}}}
	lines := []string{
		"header " + hex.EncodeToString(AppendHeader(nil, Header{Length: 0x01020304, Kind: KindBatch, Stream: 5, Seq: 6})),
		"segment " + hex.EncodeToString(AppendSegment(nil, Segment{ID: 1, Slots: 5, SlotBytes: 4096, Bytes: 20480})),
		"next " + hex.EncodeToString(AppendNext(nil, Next{Taken: 2, Waiting: true, Released: []Slot{{1, 2}, {3, 4}}})),
		"own " + hex.EncodeToString(AppendNext(nil, Next{Taken: 2, Waited: 9, Main: 7, Released: []Slot{{1, 2}}})),
		"batch " + hex.EncodeToString(AppendBatch(nil, batch)),
		"counted " + hex.EncodeToString(AppendBatch(nil, counted)),
	}
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Fatalf("the wire format changed; both ends and docs/protocol.md must change with it:\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Place: []byte("{}"), Text: [][]string{{"a", "b"}}}), 1)
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Text: [][]string{nil}, Packed: []Packed{{Counted: Counted{
		Names: []string{"a"}, First: []int64{5}, Until: []uint32{2}, Named: []uint32{0},
	}}}}), 1)
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Extents: []uint32{7, 8}}), -2)
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Beside: &Beside{Slot{1 << 31, 2}, 30}}), 1)
	f.Add(AppendNext(nil, Next{Released: []Slot{{1, 2}}}), 0)
	f.Add(AppendNext(nil, Next{Main: 7, Released: []Slot{{1, 2}}}), 0)
	f.Add(AppendSegment(nil, Segment{}), 0)
	f.Add(AppendHeader(nil, Header{Kind: KindNote}), 0)
	f.Fuzz(func(t *testing.T, p []byte, fields int) {
		ParseHeader(p)
		ParseSegment(p)
		var n Next
		if err := ParseNext(p, &n); err == nil && len(AppendNext(nil, n)) != len(p) {
			t.Fatal("NEXT does not survive a round trip")
		}
		b, err := ParseBatch(p, max(0, min(fields, 8)), max(0, -max(fields, -8)))
		if err == nil && len(AppendBatch(nil, b)) != len(p) {
			t.Fatal("BATCH does not survive a round trip")
		}
	})
}
