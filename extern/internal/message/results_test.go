package message

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// writer writes a RESULTS message as docs/protocol.md describes it, value by value.
type writer struct {
	states, counts, columns []int64
	data                    []byte
}

// put adds the bytes of a value, and returns where they are.
func (w *writer) put(b []byte) int64 {
	at := int64(len(w.data))
	w.data = append(w.data, b...)
	return at
}

func (w *writer) message(first int64, flags int64, tail string) []byte {
	words := []int64{first, int64(len(w.states)), flags, int64(len(tail)), int64(8 * (resultsHead + len(w.states) + len(w.counts) + len(w.columns))), 77}
	return message(slices.Concat(words, w.states, w.counts, w.columns), w.data, []byte(tail))
}

// What a worker has written is what is read: the state of each sample, its time, its
// values and its failure.
func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	gives := sample.Schema{
		{Name: "sizes", Type: sample.TensorType(tensor.Int16, tensor.Unknown, 2)}, {Name: "rows", Type: sample.TensorType(tensor.Uint8, 3)},
		{Name: "text", Type: sample.TextType}, {Name: "same", Type: sample.BytesType},
	}
	rapid.Check(t, func(t *rapid.T) {
		var w writer
		n, first := rapid.IntRange(1, 9).Draw(t, "samples"), rapid.Int64Range(0, 1000).Draw(t, "first")
		drop, fail := rapid.IntRange(0, 9).Draw(t, "dropped"), rapid.IntRange(0, 9).Draw(t, "failed")
		state := func(i int) int64 {
			switch i {
			case fail:
				return ItemFailed
			case drop:
				return ItemDropped
			}
			return ItemDone
		}
		values := make([][3]string, n)
		for i := range n {
			w.states = append(w.states, state(i)|int64(1000+i)<<tookShift)
			values[i] = [3]string{strings.Repeat(fmt.Sprint(i), 4*rapid.IntRange(0, 3).Draw(t, "extent")), fmt.Sprintf("%3d", i), fmt.Sprint("text ", i)}
		}
		w.counts = []int64{5, 600}

		w.columns = append(w.columns, Apart)
		for _, v := range values {
			w.columns = append(w.columns, w.put([]byte(v[0])), int64(len(v[0])/4), 2)
		}
		rows := int64(len(w.data))
		for _, v := range values {
			w.put([]byte(v[1]))
		}
		w.columns = append(w.columns, InRows, rows, 3, Apart)
		for _, v := range values {
			w.columns = append(w.columns, w.put([]byte(v[2])), int64(len(v[2])))
		}
		w.columns = append(w.columns, allSame, 2)

		tail := ""
		if fail < n {
			tail = fmt.Sprintf(`{"failures":[{"item":%d,"message":"no such crop"}],"state":"s"}`, first+int64(fail))
		}
		r, err := ParseResults(w.message(first, lastResults, tail), gives, 1)
		if err != nil {
			t.Fatal(err)
		}
		if calls, took := r.ChainCounts(0); r.First != int(first) || r.N != n || !r.Last || r.Returned || r.Rest != 77 || calls != 5 || took != 600 {
			t.Fatalf("%+v, %d calls of %v", r, calls, took)
		}
		for i, want := range values {
			if r.Status(i) != state(i) || r.Took(i) != time.Duration(1000+i) {
				t.Fatalf("sample %d has state %d and took %v", i, r.Status(i), r.Took(i))
			}
			failure := r.Failure(r.First + i)
			if failed := state(i) == ItemFailed; (failure != nil) != failed || failed && (failure.Message != "no such crop" || string(r.State) != "s") {
				t.Fatalf("sample %d: failure %v", i, failure)
			}
			for f, want := range want {
				where, at, shape, bytes := r.Value(f, i)
				if got := string(r.Data[at:][:bytes]); where != InData || got != want {
					t.Fatalf("sample %d has %q at %d, %q in %s", i, got, where, want, gives[f].Name)
				}
				if f == 0 && !slices.Equal(shape, tensor.Shape{len(want) / 4, 2}) {
					t.Fatalf("sample %d has %v, and %d bytes", i, shape, len(want))
				}
			}
			if where, input, _, _ := r.Value(3, i); where != IsSame || input != 2 {
				t.Fatalf("sample %d is not input 2, but %d at %d", i, input, where)
			}
		}
	})
}

// Fields that a worker has found out are those that it names, those of each function too.
func TestFieldsThatAreFound(t *testing.T) {
	given := sample.Schema{
		{Name: "a", Type: sample.TensorType(tensor.BFloat16, tensor.Unknown, 3)}, {Name: "b", Type: sample.TensorType(tensor.Bool)},
		{Name: "c", Type: sample.TextType}, {Name: "d", Type: sample.ObjectType}, {Name: "e", Type: sample.BytesType},
	}
	fields, err := json.Marshal(FieldsOf(given))
	if err != nil {
		t.Fatal(err)
	}
	send := func(tail string, functions int) (*Results, error) {
		w := writer{counts: make([]int64, 2*functions)}
		return ParseResults(w.message(0, withFields, tail), nil, functions)
	}
	r, err := send(fmt.Sprintf(`{"fields":%s,"found":[null,%[1]s],"unnamed":"write this","tuple":%[1]s}`, fields), 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Schema.String() != given.String() || !slices.Equal(r.Names, given.Names()) || r.Unnamed != "write this" ||
		r.Tuple.String() != given.String() {
		t.Errorf("%v, %v, %q, %v", r.Schema, r.Names, r.Unnamed, r.Tuple)
	}
	if len(r.Found) != 2 || r.Found[0] != nil || r.Found[1].String() != given.String() {
		t.Errorf("found %v", r.Found)
	}
	if FieldsOf(nil) != nil || FieldsOf(sample.Schema{}) == nil {
		t.Error("no schema and one without fields are the same")
	}
	for _, tail := range []string{
		fmt.Sprintf(`{"fields":%s,"found":[null,null,null]}`, fields), `{"fields":[{"name":"a","kind":"thing"}]}`, `{"fields":[{"name":"a","kind":"tensor","dtype":"int7"}]}`,
		`{"fields":[{"name":"a","kind":"text"},{"name":"a","kind":"text"}]}`, `{"fields":[{"name":"a","kind":"tensor","dtype":"int8","shape":[-2]}]}`,
		`{"fields":[],"found":[[{"name":"a","kind":"thing"}]]}`, `{"fields":[{"name":"a","kind":"tensor","dtype":"int8","shape":[` + strings.Repeat("1,", mostDims) + `1]}]}`,
	} {
		if r, err := send(tail, 2); err == nil {
			t.Errorf("%s gives %v", tail, r.Schema)
		}
	}
}
