package export

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const goodJournal = `{"headrace_journal": 1, "identity": {"target": "npy", "recipe": "ab", "source_samples": 3, "epochs": 1, "fused": true, "decoder": "x"},
 "state": {"version": 2, "order": 1, "decoder": "x", "recipe": "ab", "world_size": 1, "epoch": 0, "sources": {"files": {"samples": 3, "position": 2}}},
 "epochs": [{"samples": 2, "lost": 0}], "files": [{"name": "image.npy", "samples": 2, "bytes": 140}]}`

// Of rows into which samples are packed, more may have been replaced than rows were
// written.
func TestJournalsOfPackedRows(t *testing.T) {
	j, err := parseJournal([]byte(strings.Replace(goodJournal, `"samples": 2, "lost": 0`,
		`"samples": 2, "packed": 7, "lost": 0, "replaced": 5`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if n := (&Export{journal: j}).WrittenIn(0); n != 9 {
		t.Errorf("%d samples", n)
	}
}

func TestJournalsThatNobodyWrote(t *testing.T) {
	if j, err := parseJournal([]byte(goodJournal)); err != nil || j.State.Sources["files"].Position != 2 || j.Files[0].Bytes != 140 {
		t.Fatalf("%+v, %v", j, err)
	}
	for _, change := range [][2]string{
		{`"headrace_journal": 1`, `"headrace_journal": 2`},
		{`"headrace_journal": 1, `, ``},
		{`"epochs": [{`, `"epochs": [{"samples": 0, "lost": 0}, {`},
		{`"samples": 2, "lost": 0`, `"samples": -2, "lost": 0`},
		{`"samples": 2, "lost": 0`, `"samples": 2, "lost": -1`},
		{`"samples": 2, "lost": 0`, `"samples": 9223372036854775807, "lost": 0`},
		{`"lost": 0`, `"lost": 0, "found": 0`},
		{`"image.npy"`, `"../image.npy"`},
		{`"image.npy"`, `"/etc/passwd"`},
		{`"image.npy"`, `".."`},
		{`"image.npy"`, `"."`},
		{`"image.npy"`, `""`},
		{`"image.npy"`, `"/"`},
		{`"bytes": 140`, `"bytes": -140`},
		{`"bytes": 140`, `"bytes": 1e40`},
		{`140}]}`, `140}]} {}`},
		{`140}]}`, `140}]`},
	} {
		text := strings.Replace(goodJournal, change[0], change[1], 1)
		if text == goodJournal {
			t.Fatalf("%q is not in the journal", change[0])
		}
		if j, err := parseJournal([]byte(text)); err == nil {
			t.Errorf("%s: %+v", change[1], j)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(goodJournal))
	f.Add([]byte(`{"headrace_export": 1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := parseManifest(text); err == nil && (m.Bytes() < 0 || m.Lost() < 0) {
			t.Fatalf("%+v", m)
		}
		j, err := parseJournal(text)
		if err != nil {
			return
		}
		for _, file := range j.Files {
			if strings.Contains(file.Name, "/") || file.Name == ".." {
				t.Fatalf("it leads to %q", file.Name)
			}
		}
		again, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseJournal(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if text, _ := json.Marshal(back); string(text) != string(again) {
			t.Fatalf("%s is read as %s", again, text)
		}
	})
}

// Whatever makes a run another, is compared: a new field of Identity must not be
// forgotten.
func TestEveryDifferenceIsTold(t *testing.T) {
	for i := range reflect.TypeFor[Identity]().NumField() {
		var now Identity
		switch v := reflect.ValueOf(&now).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString("other")
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(7)
		}
		if all := (Identity{}).differences(now); len(all) != 1 {
			t.Errorf("%s: %q", reflect.TypeFor[Identity]().Field(i).Name, all)
		}
	}
}
