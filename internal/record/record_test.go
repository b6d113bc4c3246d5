package record

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

var numbers = &Source{Name: "files", First: 100, Key: func(index int64) string { return fmt.Sprint("key ", index) }}

func TestWhichSampleARecordIs(t *testing.T) {
	r := numbers.Record(2, 5, 7)
	want := sample.ID{Source: "files", Epoch: 2, Pos: 5, Index: 7}
	if r.ID != want || r.Key != "key 7" || r.Number().Index != 107 || r.ID.Index != 7 {
		t.Errorf("%+v", r)
	}
	lost := &sample.Lost{Key: "another"}
	r.Turn, r.InList, r.OfList, r.Drawn, r.Replaced = 3, 1, 4, 2, lost
	r.SetOutput([]int64{4}, 1)
	more := *r
	more.SetOutput(r.Made, 0)
	one, other := more, more
	one.SetOutput(more.Made, 5)
	other.SetOutput(more.Made, 6)
	if r.ID.Output != "4.1" || more.ID.Output != "4.1.0" || !slices.Equal(r.Made, []int64{4, 1}) ||
		one.Made[3] != 5 {
		t.Errorf("%v, %v", r.ID, more.ID)
	}
	// The same sample again is that of the source, on its way to the output.
	again := r.Again()
	if again.ID != want || !slices.Equal(again.Wanted, []int64{4, 1}) || again.Made != nil || again.Turn != 3 ||
		again.InList != 1 || again.OfList != 4 || again.Drawn != 2 || again.Replaced != lost {
		t.Errorf("%+v", again)
	}
	r.Drew("flip", map[string]any{"flipped": true})
	r.Drew("crop", map[string]any{"x": 1})
	r.Drew("flip", map[string]any{"flipped": false}) // it was tried again
	if o := r.Origin(); o.ID != r.ID || o.Key != "key 7" || o.Replaced != lost ||
		!reflect.DeepEqual(o.Draws, []sample.Draw{{Step: "flip", Values: map[string]any{"flipped": false}},
			{Step: "crop", Values: map[string]any{"x": 1}}}) {
		t.Errorf("%+v", o)
	}
	// The first image of a step says how large it is; its own size may change.
	for _, c := range []struct {
		step  uint64
		field string
		side  int
		first string
		want  int
	}{{1, "image", 9, "image", 9}, {1, "mask", 5, "image", 9}, {2, "mask", 5, "mask", 5}, {1, "image", 8, "image", 8}, {1,
		"mask", 5, "image", 8}} {
		if first, of := r.Shares(c.step, c.field, media.Size{Height: c.side}); first != c.first || of.Height != c.want {
			t.Errorf("%+v: %s, %v", c, first, of)
		}
	}
}

// A batch of batches is made of samples, and has a row for each of its members.
func TestBatchesOfRecords(t *testing.T) {
	var members []*Record
	for i := range int64(4) {
		members = append(members, numbers.Record(0, i, i))
	}
	inner, single := Batch(members[1:3]), members[3]
	inner.Draws = []sample.Draw{{Step: "inner"}}
	outer := Batch([]*Record{inner, single})
	outer.Draws = []sample.Draw{{Step: "outer"}}
	if outer.ID != members[1].ID || outer.Count() != 3 || !slices.Equal(slices.Collect(outer.Samples()), members[1:]) {
		t.Errorf("%+v", outer)
	}
	for one := range outer.Samples() { // and no more are asked for
		if one != members[1] {
			t.Error(one.ID)
		}
		break
	}
	if row := outer.Row(0); !slices.Equal(row.Members, inner.Members) ||
		!reflect.DeepEqual(row.Draws, []sample.Draw{{Step: "inner"}, {Step: "outer"}}) || row.ID.Output != "" {
		t.Errorf("%+v", row)
	}
	if row := outer.Row(1); row.ID != single.ID || row.Members != nil || row.Key != "key 3" {
		t.Errorf("%+v", row)
	}
	outer.Rowless = true // then a row is an output of the whole
	outer.SetOutput(nil, 6)
	if row := outer.Row(1); row.ID.Output != "6.1" || row.ID.Pos != 1 || row.Members != nil || len(row.Draws) != 1 {
		t.Errorf("%+v", row)
	}
}

type opened struct{ closed int }

func (*opened) Load() (int64, error) { return 0, nil }
func (o *opened) Close()             { o.closed++ }

// What a record has in memory beyond what was foreseen is counted, and all of it goes
// when it is dropped.
func TestWhatRecordsHoldIsCounted(t *testing.T) {
	b := budget.New(1000)
	var m Memory
	r := numbers.Record(0, 0, 0)
	v := m.Blank(r)
	acquire := func(n int64) budget.Grant {
		g, err := b.Acquire(t.Context(), 1, "test", n)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	r.Content, r.Working = acquire(10), acquire(20)
	v.Bytes = append(v.Bytes, make([]byte, 25))
	if r.Account(); r.Working.Bytes() != 20 { // it fits
		t.Errorf("%d bytes", r.Working.Bytes())
	}
	v.Bytes = append(v.Bytes, *v.Borrow(&m.Files, 40), make([]byte, 5))
	if r.Account(); r.Content.Bytes() != 10 || r.Working.Bytes() != 60 {
		t.Errorf("%d and %d bytes", r.Content.Bytes(), r.Working.Bytes())
	}
	if m.Settle(r); r.Content.Bytes() != 10 {
		t.Error("the file's bytes go back while a value is in it")
	}
	v.Bytes[1] = nil
	if m.Settle(r); r.Content.Bytes() != 0 || v.Held() != 30 {
		t.Errorf("%d bytes are the file's, %d are held", r.Content.Bytes(), v.Held())
	}
	o := new(opened)
	r.Opened = o
	m.Drop(r)
	if m.Drop(r); o.closed != 1 || b.Stats().Used != 0 {
		t.Errorf("closed %d times, %d bytes are held", o.closed, b.Stats().Used)
	}
}
