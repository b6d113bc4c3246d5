package wire

import (
	"encoding/hex"
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

func TestNextRoundTrip(t *testing.T) {
	var got Next // used again, as the session does
	rapid.Check(t, func(r *rapid.T) {
		n := Next{Taken: rapid.Uint32().Draw(r, "taken"), Waiting: rapid.Bool().Draw(r, "waiting"),
			Waited: rapid.Uint32().Draw(r, "waited")}
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

// TestGolden pins the bytes. The Python client's tests read the same file, so neither
// side can drift alone.
func TestGolden(t *testing.T) {
	const path = "testdata/golden.txt"
	batch := &Batch{Segment: 1, Slot: 2, Rows: 3, Flags: Unpooled, Step: 4, Epoch: 5, StateEpoch: 6, Extents: []uint32{480, 640},
		Place: []byte(`{"sources":{"files":{"samples":20,"position":7,"ahead":[[8,9],[11,15]]}}}`),
		Text:  [][]string{{"a/1.jpg", "", "b/\xff.jpg"}, {"x", "yy", "zzz"}}}
	lines := []string{
		"header " + hex.EncodeToString(AppendHeader(nil, Header{Length: 0x01020304, Kind: KindBatch, Stream: 5, Seq: 6})),
		"segment " + hex.EncodeToString(AppendSegment(nil, Segment{ID: 1, Slots: 5, SlotBytes: 4096, Bytes: 20480})),
		"next " + hex.EncodeToString(AppendNext(nil, Next{Taken: 2, Waiting: true, Released: []Slot{{1, 2}, {3, 4}}})),
		"batch " + hex.EncodeToString(AppendBatch(nil, batch)),
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
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Extents: []uint32{7, 8}}), -2)
	f.Add(AppendBatch(nil, &Batch{Rows: 2, Beside: &Beside{Slot{1 << 31, 2}, 30}}), 1)
	f.Add(AppendNext(nil, Next{Released: []Slot{{1, 2}}}), 0)
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
