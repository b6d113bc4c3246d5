package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/sample"
)

var lost = sample.Lost{ID: sample.ID{Source: "files", Epoch: 1, Pos: 2, Index: 3, Output: "4.5"}, Key: "bad\xff.jpg",
	Stage: "decode_image", Err: errors.New("<it>")}

// What a recipe names is a new file, or one of dead letters. Nothing else is written to,
// and nobody waits for who would read from a pipe.
func TestFilesThatARecipeMayName(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	put := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bad.jsonl", "bad.jsonl"} { // again, as a run that is resumed does it
		d, err := OpenDeadLetters(t.Context(), at(name), true, 6, func(_, message string) { t.Error(message) })
		if err != nil || !d.Wanted() {
			t.Fatal(err)
		}
		d.Add(lost)
		d.Close()
		d.Add(lost) // it is over
	}
	letter, err := os.ReadFile(at("bad.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	letter = letter[:len(letter)/2] // the first of two that are equal
	const want = `{"rank":6,"epoch":1,"source":"files","position":2,"index":3,"output":[4,5],"key":"bad\udcff.jpg","stage":"decode_image","error":"<it>","replaced":false}`
	if string(letter) != want+"\n" {
		t.Errorf("%s, not %s", letter, want)
	}
	put("text.jsonl", "precious\n")
	put("object.jsonl", "{\"was\": \"there\"}\n")
	put("begun.jsonl", strings.TrimSuffix(string(letter), "\n")[:20])
	put("more.jsonl", strings.Replace(string(letter), `{"rank"`, `{"more":1,"rank"`, 1))
	put("linked", "")
	put("twice", "")
	put("precious.txt", "")
	put(".profile", "precious\n")
	for link, to := range map[string]string{"link.jsonl": "linked", "nowhere.jsonl": "nowhere", "device.jsonl": "/dev/null"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Link(at("twice"), at("hard.jsonl")), syscall.Mkfifo(at("pipe.jsonl"), 0o644),
		os.Mkdir(at("folder.jsonl"), 0o755)); err != nil {
		t.Fatal(err)
	}
	before := contentsOf(t, folder)
	for name, want := range map[string]string{
		"text.jsonl": "has no dead letters", "object.jsonl": "has no dead letters", "begun.jsonl": "has no dead letters",
		"more.jsonl": "has no dead letters",
		"hard.jsonl": "has no dead letters", "pipe.jsonl": "has no dead letters", "folder.jsonl": "is a directory",
		"link.jsonl": "is a symbolic link", "nowhere.jsonl": "is a symbolic link", "device.jsonl": "is a symbolic link",
		"precious.txt": "must end in .jsonl", ".profile": "must end in .jsonl", "new.txt": "must end in .jsonl",
		".bashrc": "must end in .jsonl",
	} {
		d, err := OpenDeadLetters(t.Context(), at(name), true, 0, nil)
		if err == nil || d.Wanted() || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", name, err, want)
		}
	}
	if after := contentsOf(t, folder); !reflect.DeepEqual(after, before) {
		t.Errorf("%v\nnot %v", after, before)
	}
	// You may name any of them yourself.
	d, err := OpenDeadLetters(t.Context(), at("text.jsonl"), false, 6, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Add(lost)
	d.Close()
	if text, err := os.ReadFile(at("text.jsonl")); err != nil || string(text) != "precious\n"+string(letter) {
		t.Errorf("%v: %s", err, text)
	}
	if d, err := OpenDeadLetters(t.Context(), "", true, 0, nil); d.Wanted() || err != nil {
		t.Error("no path is none")
	}
	if _, err := OpenDeadLetters(t.Context(), at("none/bad.jsonl"), false, 0, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// contentsOf has the text of all regular files of a folder, and the names of the others.
func contentsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all[e.Name()] = e.Type().String()
		if e.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			all[e.Name()] += string(text)
		}
	}
	return all
}

type failing struct{ write, end error }

func (f failing) Write(b []byte) (int, error) { return len(b), f.write }
func (f failing) Close() error                { return f.end }

// A disk that is full, now or when the file is closed, is told once, and ends no run.
func TestDeadLettersThatAreNotKept(t *testing.T) {
	for want, file := range map[string]failing{
		"cannot be written any more, so the sample \"bad\\xff.jpg\" and further ones are not in it: ": {write: syscall.ENOSPC},
		"cannot be completed, so its last lines may be missing: ":                                     {end: syscall.EDQUOT},
		"": {},
	} {
		var warned []string
		d := NewDeadLetters(file, 0, func(code, message string) { warned = append(warned, code+" "+message) })
		d.Add(lost)
		d.Add(lost)
		d.Close()
		d.Close()
		if all := strings.Join(warned, "; "); want == "" && all != "" || want != "" &&
			!strings.HasPrefix(all, "dead_letters dead_letters "+want) || len(warned) > 1 {
			t.Errorf("%q, not %q", all, want)
		}
	}
	if (&DeadLetters{}).Wanted() {
		t.Error("the zero value wants none")
	}
}
