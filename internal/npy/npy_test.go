package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/tensor"
)

func TestHeadersAreNumPys(t *testing.T) {
	for _, c := range []struct {
		dtype tensor.DType
		shape tensor.Shape
		want  string
	}{
		{tensor.Uint8, tensor.Shape{3, 4, 5}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 5), }"},
		{tensor.BFloat16, tensor.Shape{7}, "{'descr': '<u2', 'fortran_order': False, 'shape': (7,), }"},
		{tensor.Float64, nil, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"},
	} {
		h := Write(c.dtype, c.shape)
		text := strings.TrimRight(string(h[10:]), " \n")
		if len(h)%64 != 0 || string(h[:8]) != "\x93NUMPY\x01\x00" || int(h[8])+int(h[9])<<8 != len(h)-10 || h[len(h)-1] != '\n' || text != c.want {
			t.Errorf("%q", h)
		}
	}
	for d := tensor.Bool; d.Valid(); d++ {
		if descr[d] == "" {
			t.Errorf("%v has no name", d)
		}
	}
	for _, long := range []tensor.Shape{{}, {100}, {1000, 1000, 1000, 1000}} {
		first := len(Write(tensor.Float32, append(tensor.Shape{0}, long...)))
		for _, n := range []int{1, 999_999, 1<<63 - 1} {
			if got := len(Write(tensor.Float32, append(tensor.Shape{n}, long...))); got != first {
				t.Errorf("the header of %d rows has %d bytes, that of none %d", n, got, first)
			}
		}
	}
}

// The files of testdata are NumPy's: numpy.lib.format.write_array of
// numpy.arange(6).reshape(2, 3) of the type that a file is named for, and others.
func TestFilesOfNumPy(t *testing.T) {
	read := func(name string) (Array, error) {
		file, err := os.ReadFile(filepath.Join("testdata", name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		return Read(file)
	}
	for d := tensor.Bool; d.Valid(); d++ {
		a, err := read(d.String())
		if err != nil || a.Check(d) != nil || !a.Shape.Equal(tensor.Shape{2, 3}) || len(a.Data) != 6*d.Size() {
			t.Errorf("%v: %v, %v, %v", d, a, err, a.Check(d))
			continue
		}
		for other := tensor.Bool; other.Valid(); other++ {
			bits := d == tensor.Uint16 && other == tensor.BFloat16
			if err := a.Check(other); (err == nil) != (other == d || bits) {
				t.Errorf("%v as %v: %v", d, other, err)
			}
		}
	}
	for name, shape := range map[string]tensor.Shape{"scalar": {}, "empty": {0, 4}, "vector": {5}, "version2": {5}, "version3": {5}} {
		if a, err := read(name); err != nil || !a.Shape.Equal(shape) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if a, err := read("vector"); err != nil || int32(binary.LittleEndian.Uint32(a.Data[16:])) != 4 {
		t.Errorf("%v, %v", a, err)
	}
	if a, err := read("float64"); err != nil || !bytes.Equal(a.Data[8:16], binary.LittleEndian.AppendUint64(nil, 0x3ff0000000000000)) {
		t.Errorf("%v, %v", a, err)
	}
	for name, want := range map[string]string{
		"fortran": "numpy.ascontiguousarray", "big-endian": "the highest byte first", "complex": `"<c8"`, "structure": "structures",
		"text": `"<U2"`, "object": "Python objects", "date": `"<M8[D]"`,
	} {
		if a, err := read("refused-" + name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

// fileOf is a file of version 1.0 with this header.
func fileOf(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

func TestHeadersOfOthers(t *testing.T) {
	for header, shape := range map[string]tensor.Shape{
		`{"shape":(2,3),"fortran_order":False,"descr":"<f4"}`:                    {2, 3},
		"{ 'descr' : '<i4' ,\n'fortran_order' : True, 'shape' : ( 6 , ) , } \n ": {6},
		"{'descr': '=u4', 'fortran_order': False, 'shape': (1, 2, 3, 1,)}":       {1, 2, 3, 1},
	} {
		if a, err := Read(fileOf(header, 24)); err != nil || !a.Shape.Equal(shape) {
			t.Errorf("%s: %v, %v", header, a, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	good := Write(tensor.Float32, tensor.Shape{2, 3})
	form := "the header is not valid"
	header := func(text string) string { return string(fileOf(text, 24)) }
	dict := func(shape string) string {
		return header("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}")
	}
	for file, want := range map[string]string{
		"":                                   "not a NumPy file",
		"\x93NUMPX\x01\x00":                  "not a NumPy file",
		magic:                                "ends in its header",
		string(good[:40]):                    "ends in its header",
		string(good):                         "0 bytes follow the header: an array [2, 3] of <f4 has 6 elements of 4 bytes",
		string(good) + "1":                   "1 bytes follow",
		dict("(2, 3)") + "x":                 "25 bytes follow",
		dict("(2, 4)"):                       "24 bytes follow",
		magic + "\x04\x00abcdefg":            "version 4.0: must be 1.0, 2.0 or 3.0",
		magic + "\x01\x01abcdefg":            "version 1.1: must be 1.0, 2.0 or 3.0",
		magic + "\x02\x00\xff\xff\xff\xffab": "the header has 4294967295 bytes: must be at most 10000",
		header(""):                           form,
		header("{}"):                         form,
		header("{'descr': '<f4', 'fortran_order': False}"):                           form,
		header("{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}"):                    form,
		header("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}"):                form,
		header("{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}"):             form,
		header("{'descr': '<f\\x34', 'fortran_order': False, 'shape': (6,)}"):        form,
		header("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}"): form,
		header("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} + {}"):       form,
		header("__import__('os').system('true')"):                                    form,
		dict("6"):                         form,
		dict("(6)"):                       form,
		dict("(,)"):                       form,
		dict("(2 3)"):                     form,
		dict("(2,,3)"):                    form,
		dict("(-6,)"):                     form,
		dict("(0x6,)"):                    form,
		dict("(06,)"):                     form,
		dict("(6"):                        form,
		dict("(6.0,)"):                    form,
		dict("(1, 99999999999999999999)"): form,
		dict("(4294967296, 4294967296, 4294967296)"):                           "more than 2⁶³-1 elements",
		dict("(0, 4294967296, 4294967296, 4294967296)"):                        "more than 2⁶³-1 elements",
		dict("(" + strings.Repeat("1, ", 65) + ")"):                            "more than 64 axes",
		header("{'descr': '', 'fortran_order': False, 'shape': (6,)}"):         "the type of the elements is",
		header("{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}"):      `the elements are "|f4"`,
		header("{'descr': '<', 'fortran_order': False, 'shape': (6,)}"):        `the elements are "<"`,
		header("{'descr': ('<f4', 6), 'fortran_order': False, 'shape': (6,)}"): form,
	} {
		if a, err := Read([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", file, a, err, want)
		}
	}
	two := Array{Descr: "|b1", Shape: tensor.Shape{2}, Data: []byte{1, 2}}
	if err := two.Check(tensor.Bool); err == nil || !strings.Contains(err.Error(), "neither 0 nor 1") {
		t.Error(err)
	}
	for _, d := range []tensor.DType{tensor.Invalid, 200} {
		if err := two.Check(d); err == nil {
			t.Errorf("%v is a type", d)
		}
	}
}

// FuzzRead reads anything. What is taken is whole, and written again it is read as the
// same.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.npy")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add(fileOf("{\"shape\":(2,3,),'fortran_order':False,'descr':'<f4'}", 24))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Read(file)
		if err != nil {
			return
		}
		for d := tensor.Bool; d.Valid(); d++ {
			if a.Check(d) != nil {
				continue
			}
			n, err := a.Shape.Bytes(d)
			if err != nil || n != int64(len(a.Data)) {
				t.Fatalf("%v of %v with %d bytes", a.Shape, d, len(a.Data))
			}
			again, err := Read(slices.Concat(Write(d, a.Shape), a.Data))
			if err != nil || fmt.Sprint(again.Shape) != fmt.Sprint(a.Shape) || !bytes.Equal(again.Data, a.Data) {
				t.Fatalf("%v became %v, %v", a, again, err)
			}
		}
	})
}
