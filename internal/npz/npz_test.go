package npz_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/npz"
)

// archive is a zip file of the standard library's.
func archive(t testing.TB, method uint16, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		m, err := w.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func room(n int) []byte { return make([]byte, n) }

func any1(npy.Form) error { return nil }

// file is one of NumPy's, of 2 × 3 elements, as internal/npy has them.
func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../npy/testdata", name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestElementsAreInTheOrderOfSamples(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		for name, like := range map[string]string{
			"int32": "int32", "refused-fortran": "int64", "refused-big-endian": "vector", "bool": "bool", "scalar": "",
		} {
			arrays, err := npz.Open(archive(t, method, name+".npy", file(t, name)))
			if err != nil || len(arrays) != 1 || arrays[0].Name != name || arrays[0].Other != "" {
				t.Fatal(arrays, err)
			}
			data, form, err := arrays[0].Read(any1, room)
			if err != nil {
				t.Fatal(name, err)
			}
			if seen, err := arrays[0].Form(); err != nil || seen.Size != form.Size || int64(len(data)) != form.Size {
				t.Errorf("%s: %+v, %+v, %v", name, seen, form, err)
			}
			whole, _, err := arrays[0].Whole(room)
			if err != nil || string(whole) != file(t, name) {
				t.Errorf("%s: %v", name, err)
			}
			if like == "" {
				continue
			}
			want, err := npy.Read([]byte(file(t, like)))
			if err != nil || !bytes.Equal(want.Data, data) || !form.Shape.Equal(want.Shape) {
				t.Errorf("%s, method %d: %v, want %v; %v, %v", name, method, data, want.Data, form.Shape, err)
			}
		}
	}
}

func TestWhatIsNoArray(t *testing.T) {
	arrays, err := npz.Open(archive(t, zip.Store, "a.npy", file(t, "int8"), "readme.txt", "text", ".npy", "", "\xff.npy", ""))
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, a := range arrays {
		others = append(others, a.Other)
	}
	want := []string{"", "not an array: its name must end in .npy", "an array without a name", "an array whose name is not UTF-8"}
	if !slices.Equal(others, want) {
		t.Errorf("%q", others)
	}
}

func TestWhatIsRefused(t *testing.T) {
	int8s := file(t, "int8")
	good := archive(t, zip.Deflate, "a.npy", int8s)
	sum := slices.Clone(good)
	copy(sum[bytes.LastIndex(sum, []byte("PK\x01\x02"))+16:], "\x01\x02\x03\x04")
	long := slices.Clone(good)
	copy(long[bytes.LastIndex(long, []byte("PK\x01\x02"))+24:], "\xff\xff\xff\x7f")
	for want, data := range map[string][]byte{
		"not a valid zip file":               good[:len(good)-1],
		`"a.npy" is in it twice`:             archive(t, zip.Store, "a.npy", int8s, "a.npy", int8s),
		"its checksum is":                    sum,
		"cannot hold 2147483647":             long,
		`array "a": it is not a NumPy file`:  archive(t, zip.Deflate, "a.npy", strings.Repeat("text", 50)),
		`array "a": 7 bytes follow`:          archive(t, zip.Store, "a.npy", int8s+"x"),
		`array "b": 7 bytes follow`:          archive(t, zip.Deflate, "b.npy", int8s+"x"),
		`array "c": it is not a NumPy file`:  archive(t, zip.Deflate, "c.npy", "short"),
		`array "o": the elements are Python`: archive(t, zip.Deflate, "o.npy", file(t, "refused-object")),
		`array "s": the header is not`:       archive(t, zip.Store, "s.npy", "\x93NUMPY\x01\x00\x02\x00{}"),
	} {
		arrays, err := npz.Open(data)
		if err == nil {
			_, _, err = arrays[0].Read(any1, room)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzRead reads anything. Memory is bounded by what the archive could hold.
func FuzzRead(f *testing.F) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(archive(f, method, "a.npy", file(f, "int32"), "b.npy", file(f, "refused-fortran"), "c.npy", file(f, "refused-structure")))
		f.Add(archive(f, method, "a.npy", file(f, "refused-big-endian"), "b.npy", file(f, "refused-text"), "c.npy", file(f, "version2")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, err := npz.Open(data)
		if err != nil {
			return
		}
		for i := range arrays {
			a := &arrays[i]
			taken := int64(0)
			counted := func(n int) []byte {
				if taken += int64(n); taken > a.Memory() || a.Memory() > 2*1032*int64(len(data)+1) {
					t.Fatalf("%d bytes for %s of %d", taken, a.Name, len(data))
				}
				return make([]byte, n)
			}
			got, form, err := a.Read(any1, counted)
			if err == nil && int64(len(got)) != form.Size {
				t.Fatalf("%d bytes of %+v", len(got), form)
			}
			taken = 0
			whole, again, err2 := a.Whole(counted)
			if (err == nil) != (err2 == nil) || err == nil && (fmt.Sprint(again) != fmt.Sprint(form) || int64(len(whole)) != form.Size+int64(form.At)) {
				t.Fatalf("%v, %v", err, err2)
			}
		}
	})
}
