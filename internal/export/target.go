package export

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/store"
)

// Target is where samples are written, and in which format.
type Target struct {
	Kind string // "npy", or that of shards: "tar", "parquet" and others
	Dir  string // the folder
	Name string // of a shard, with one verb for its number: "train-%06d.tar"; "" for npy
}

// ParseTarget reads tar:FOLDER/NAME-%06d.tar, the same of other kinds of shards, or
// npy:FOLDER.
func ParseTarget(text string) (Target, error) {
	name, where, _ := strings.Cut(text, ":")
	k, shards := kinds[name]
	switch {
	case where == "" || !shards && name != "npy":
		return Target{}, fmt.Errorf("%q: must be tar:PATTERN, such as tar:out/train-%%06d.tar, "+
			"or npy:FOLDER; or a pattern after %s", text, strings.Join(Targets(), ", "))
	case !shards:
		return Target{Kind: name, Dir: store.Clean(where)}, nil
	}

	t := Target{Kind: name, Dir: filepath.Dir(where), Name: filepath.Base(where)}
	if _, _, ok := store.Scheme(where); ok {
		t.Dir = store.Dir(where)
	}
	if !shardName.MatchString(t.Name) || !strings.HasSuffix(t.Name, k.suffix) || !utf8.ValidString(t.Name) {
		return Target{}, fmt.Errorf("%q: the name of a shard is %q: must have a single "+
			"%%d or %%06d for its number and end in %s, as in %s:out/train-%%06d%s", text, t.Name, k.suffix, name, k.suffix)
	}
	return t, nil
}

var shardName = regexp.MustCompile(`^([^%]*)%(0[1-9]|01[0-8])?d([^%]*)$`)

// shard is the name of the shard of a number.
func (t Target) shard(number int) string { return fmt.Sprintf(t.Name, number) }

// around is what is before and after the number in the name of a shard, without its
// suffix.
func (t Target) around() (before, after string) {
	parts := shardName.FindStringSubmatch(t.Name)
	return parts[1], strings.TrimSuffix(parts[3], kinds[t.Kind].suffix)
}

// isShard reports whether a file name is that of a shard, or of what is beside one, and
// of which.
func (t Target) isShard(name string) (number int, ok bool) {
	if t.Kind == "npy" {
		return 0, false
	}
	k := kinds[t.Kind]
	if k.beside != "" && strings.HasSuffix(name, k.beside) {
		name = strings.TrimSuffix(name, k.beside) + k.suffix
	}
	before, after := t.around()
	digits := strings.TrimSuffix(strings.TrimPrefix(name, before), after+k.suffix)
	number, err := strconv.Atoi(digits)
	return number, err == nil && number >= 0 && t.shard(number) == name
}

// beside is the name of a file that is beside the samples, and tells it from those
// of other targets in the same folder.
func (t Target) beside(name string) string {
	if t.Kind == "npy" {
		return name
	}
	before, after := t.around()
	if stem := strings.Trim(strings.Trim(before, "-_.")+"."+strings.Trim(after, "-_."), "."); stem != "" {
		return stem + "." + name
	}
	return name
}

func (t Target) String() string {
	if t.Kind == "npy" {
		return "npy:" + t.Dir
	}
	return t.Kind + ":" + store.Join(t.Dir, t.Name)
}
