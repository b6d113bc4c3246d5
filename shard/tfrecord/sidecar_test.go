package tfrecord_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/shard/tfrecord"
)

// counted is a shard that counts reads.
type counted struct {
	shard.File
	reads int
}

func (f *counted) ReadAt(p []byte, at int64) (int, error) {
	f.reads++
	return f.File.ReadAt(p, at)
}

// scanned is where records are that are called a.tfrecord and have an index beside them;
// "": they have none.
func scanned(t testing.TB, data []byte, beside string, text []byte) (parts []index.Part, reads int) {
	t.Helper()
	folder := shardtest.Folder{"a.tfrecord": data}
	if beside != "" {
		folder[beside] = text
	}
	f, err := folder.Open("a.tfrecord")
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{File: f}
	var found index.Builder
	if err := (tfrecord.Format{}).Scan(t.Context(), c, &found); err != nil {
		t.Fatal(err)
	}
	for i := range found.Len() {
		_, of := found.Of(i)
		parts = append(parts, of...)
	}
	return parts, c.reads
}

// records are of a length each, and an index of them, as tfrecord2idx writes it.
func records(n int) (data, text []byte) {
	var all []string
	at := 0
	for i := range n {
		all = append(all, strings.Repeat("x", 3000+i))
		text = fmt.Appendf(text, "%d %d\n", at, 3000+i+16)
		at += 3000 + i + 16
	}
	return file(all...), text
}

func TestAnIndexBesideIsTaken(t *testing.T) {
	data, text := records(200)
	want, all := scanned(t, data, "", nil)
	for _, name := range []string{"a.tfrecord.idx", "a.tfrecord.index", "a.idx", "a.index"} {
		got, reads := scanned(t, data, name, text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the records are %v", name, got)
		}
		if reads > 20 || all < 100 {
			t.Errorf("%s: %d reads, and %d without", name, reads, all)
		}
	}
}

// Whatever is wrong with an index, the records are those of the file.
func TestAnIndexThatIsNotTrue(t *testing.T) {
	data, text := records(40)
	want, all := scanned(t, data, "", nil)
	good := string(text)
	lines := strings.SplitAfter(good, "\n")
	for name, wrong := range map[string]string{
		"empty":               "",
		"cut off":             good[:len(good)/2],
		"without the first":   strings.Join(lines[1:], ""),
		"without the last":    strings.Join(lines[:39], ""),
		"in another order":    strings.Join(append([]string{lines[1], lines[0]}, lines[2:]...), ""),
		"twice":               lines[0] + good,
		"with one more":       good + fmt.Sprintf("%d 16\n", len(data)),
		"overlapping":         strings.Replace(good, "3016 3017\n", "3015 3018\n", 1),
		"of other records":    strings.Replace(good, "0 3016\n3016 3017\n", "0 3017\n3017 3016\n", 1),
		"of one record":       fmt.Sprintf("0 %d\n", len(data)),
		"below zero":          strings.Replace(good, "0 3016\n", "0 -3016\n", 1),
		"from below zero":     strings.Replace(good, "0 3016\n", "-16 3016\n", 1),
		"huge":                "0 9223372036854775807\n",
		"too huge":            "0 9223372036854775808\n",
		"of too short ones":   "0 15\n",
		"of words":            "a b\n",
		"of one number":       "0\n",
		"of lines of 100 KB":  strings.Repeat("1", 100_000),
		"of Megatron's":       "MMIDIDX\x00\x00\x01",
		"of DALI's tar files": "v1.2 1\njpg 512 10 a.jpg\n",
	} {
		got, reads := scanned(t, data, "a.idx", []byte(wrong))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the records are %v", name, got)
		}
		if reads < all {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// An index may be of a file that ends elsewhere: what is wrong is said of the file.
func TestAnIndexBesideAFileThatIsCutOff(t *testing.T) {
	data, text := records(3)
	c := shardtest.Case{Format: tfrecord.Format{}, File: "a.tfrecord", Folder: shardtest.Folder{"a.tfrecord": data, "a.idx": text}}
	c.Refused(t, "a.tfrecord", data[:len(data)-1], shard.ErrTruncated, "at byte 6033")

	// tfrecord2idx takes a record that is cut off for a shorter one.
	c.Folder["a.idx"] = fmt.Appendf(nil, "0 3016\n3016 3017\n6033 %d\n", len(data)-1-6033)
	c.Refused(t, "a.tfrecord", data[:len(data)-1], shard.ErrTruncated, "at byte 6033")
}

// An index that is taken of a file with few records, all of which are compared, says what
// the file does.
func FuzzIndexBeside(f *testing.F) {
	data, text := records(8)
	f.Add(text)
	f.Add([]byte("0 16\n16 9223372036854775807\n"))
	want, _ := scanned(f, data, "", nil)
	f.Fuzz(func(t *testing.T, beside []byte) {
		if got, _ := scanned(t, data, "a.idx", beside); !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %v", beside, got)
		}
	})
}
