package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawTask(r *rapid.T) *Task {
	t := &Task{What: rapid.SliceOf(rapid.Byte()).Draw(r, "what"), Text: rapid.SliceOf(rapid.Byte()).Draw(r, "text")}
	for range rapid.IntRange(0, 5).Draw(r, "slots") {
		t.Released = append(t.Released, Slot{rapid.Uint32().Draw(r, "segment"), rapid.Uint32().Draw(r, "slot")})
	}
	for range rapid.IntRange(0, 5).Draw(r, "inputs") {
		in := Input{Path: rapid.Bool().Draw(r, "path")}
		most := uint64(1 << 62)
		if in.Path {
			most = uint64(len(t.Text))
		}
		in.At = rapid.Uint64Range(0, most).Draw(r, "at")
		in.Length = rapid.Uint64Range(0, most-in.At).Draw(r, "length")
		t.Inputs = append(t.Inputs, in)
	}
	return t
}

func TestTaskRoundTrip(t *testing.T) {
	var got Task // used again, as the session does
	rapid.Check(t, func(r *rapid.T) {
		task := drawTask(r)
		if err := ParseTask(AppendTask(nil, task), &got); err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(task, &got, cmpopts.EquateEmpty()); d != "" {
			r.Fatal(d)
		}
	})
}

func TestDoneRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := &Done{
			Segment: rapid.Uint32().Draw(r, "segment"), Slot: rapid.Uint32().Draw(r, "slot"),
			Flags: rapid.Uint32().Draw(r, "flags"), Bits: rapid.Uint32().Draw(r, "bits"),
			Extents: rapid.SliceOfN(rapid.Uint64(), 0, 4).Draw(r, "extents"), Failures: rapid.SliceOf(rapid.Byte()).Draw(r, "failures"),
		}
		got, err := ParseDone(AppendDone(nil, d))
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(d, got, cmpopts.EquateEmpty()); d != "" {
			r.Fatal(d)
		}
	})
}

func TestATaskKeepsItsPathsInItsText(t *testing.T) {
	var got Task
	for _, in := range []Input{{Path: true, At: 2, Length: 2}, {Path: true, At: 4}, {Path: true, At: 1 << 62, Length: 1 << 62}, {At: 1 << 62, Length: 1 << 63}} {
		if err := ParseTask(AppendTask(nil, &Task{Inputs: []Input{in}, Text: []byte("abc")}), &got); err == nil {
			t.Errorf("%+v was taken", in)
		}
	}
}

func FuzzTask(f *testing.F) {
	f.Add(AppendTask(nil, &Task{Released: []Slot{{1, 2}}, Inputs: []Input{{Path: true, Length: 3}, {At: 4, Length: 5}},
		What: []byte("{}"), Text: []byte("/ab")}))
	f.Add(AppendDone(nil, &Done{Extents: []uint64{2, 3}, Failures: []byte("[]")}))
	f.Fuzz(func(t *testing.T, p []byte) {
		var task Task
		if err := ParseTask(p, &task); err == nil {
			for _, in := range task.Inputs {
				if in.Path {
					_ = task.Text[in.At:][:in.Length]
				}
			}
			again := AppendTask(nil, &task)
			if copy(again[12:16], p[12:16]); !bytes.Equal(again, p) {
				t.Fatal("TASK does not survive a round trip")
			}
		}
		if d, err := ParseDone(p); err == nil && !bytes.Equal(AppendDone(nil, d), p) {
			t.Fatal("DONE does not survive a round trip")
		}
	})
}
