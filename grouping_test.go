package headrace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headrace/internal/leak"
	"headrace/internal/npy"
	"headrace/internal/phototest"
	"headrace/tensor"
)

// sequences writes files of int32 with these lengths into folders of two classes: file i holds 1000·i, 1000·i+1, …
func sequences(t *testing.T, lengths ...int) (root string) {
	t.Helper()
	root = t.TempDir()
	for i, n := range lengths {
		file := npy.Write(tensor.Int32, tensor.Shape{n})
		for k := range n {
			file = binary.LittleEndian.AppendUint32(file, uint32(1000*i+k))
		}
		name := filepath.Join(root, fmt.Sprint("class", i%2), fmt.Sprintf("%03d.npy", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, file, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// shownBatch is all of a batch as text.
func shownBatch(t *testing.T, b *Batch) string {
	t.Helper()
	var s strings.Builder
	for _, f := range b.slots.layout.fields {
		if f.DType == tensor.Invalid {
			var names []string
			for _, key := range b.Text(f.Name) {
				names = append(names, strings.NewReplacer(filepath.Dir(filepath.Dir(key)), "").Replace(key))
			}
			fmt.Fprintln(&s, f.Name, names)
			continue
		}
		a, _ := b.Tensor(f.Name)
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
		switch a.DType {
		case tensor.Int32:
			v, err := tensor.Values[int32](a)
			fmt.Fprintln(&s, f.Name, a.Shape, v, err)
		case tensor.Int64:
			v, err := tensor.Values[int64](a)
			fmt.Fprintln(&s, f.Name, a.Shape, v, err)
		default:
			fmt.Fprintf(&s, "%s %v %x\n", f.Name, a.Shape, a.Data)
		}
	}
	return s.String()
}

// epochOf returns the batches that are left of an epoch, as text, with the state behind each.
func epochOf(t *testing.T, l *Loader) (all []string, states []State) {
	t.Helper()
	for {
		b, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all, states
		}
		if err != nil {
			t.Fatal(err)
		}
		all, states = append(all, fmt.Sprintf("step %d\n%s", b.Step(), shownBatch(t, b))), append(states, l.State())
		b.Release()
	}
}

var lengthsOfFiles = []int{3, 1, 9, 4, 4, 2, 8, 8, 1, 5, 3, 3, 9, 7, 2, 6, 1, 1, 4, 10, 5, 2}

// A run that goes on from the state behind any batch yields the batches that the uninterrupted one would have, whatever brings samples together.
func TestGroupedBatchesResume(t *testing.T) {
	leak.Check(t)
	files := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"shuffle":{"seed":5}},`
	npys, photos := sequences(t, lengthsOfFiles...), phototest.Folder(t, 30)
	for steps, root := range map[string]string{
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[4,10],"size":3,"pad":-1}}`:                                 npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[3,6,10],"tokens":20,"pad_to":"longest","drop_last":true}}`: npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[4,8],"size":3,"overlong":"drop"}}`:                         npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"pack":{"length":11,"size":2,"open":2}}`:                                              npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"pack":{"length":8,"size":3,"open":3,"fit":"first","overlong":"truncate"}}`:           npys,
		`"decode_image","random_rotate90",{"resize_to_bucket":{"sizes":[[8,6],[6,8]]}},"random_flip",{"batch":{"size":4}}`:                     photos,
		`"decode_image",{"resize_to_bucket":{"sizes":[[8,6],[6,8],7]}},{"batch":{"size":4,"drop_last":true}}`:                                  photos,
	} {
		r := parseRecipe(t, files+steps, root)
		for _, fuse := range []bool{true, false} {
			config := Config{Epochs: new(2), Workers: new(3), Fuse: &fuse}
			l := openLoader(t, r, config, Options{})
			first, states := epochOf(t, l)
			second, _ := epochOf(t, l)
			if len(first) < 4 || slices.Equal(first, second) {
				t.Fatalf("%s: %d batches, in a random order", steps, len(first))
			}
			if got := l.Epoch(); got.Batches != int64(len(second)) || int64(len(first)) > l.Info().BatchesPerEpoch || l.Info().Exact {
				t.Errorf("%s: %+v, %d batches at most", steps, got, l.Info().BatchesPerEpoch)
			}
			for i, from := range states {
				text, err := json.Marshal(from)
				if err != nil {
					t.Fatal(err)
				}
				var back State
				if err := json.Unmarshal(text, &back); err != nil {
					t.Fatal(err)
				}
				if err := l.Start(back, nil); err != nil {
					t.Fatal(err)
				}
				var got []string
				if back.Epoch == 0 {
					got, _ = epochOf(t, l)
				}
				if !slices.Equal(got, first[i+1:]) {
					t.Fatalf("%s, fused %v: behind batch %d, %s:\n%v\nwant\n%v", steps, fuse, i, text, got, first[i+1:])
				}
				if again, _ := epochOf(t, l); !slices.Equal(again, second) {
					t.Fatalf("%s: the epoch after is another", steps)
				}
			}
			l.Close()
			if used := l.Stats().Memory.Used; used != 0 {
				t.Errorf("%s: %d bytes are still held", steps, used)
			}
		}
	}
}
