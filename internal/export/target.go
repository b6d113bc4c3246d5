package export

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Target is where samples are written, and in which format.
type Target struct {
	Kind string // "tar" or "npy"
	Dir  string // the folder
	Name string // of a shard, with one verb for its number: "train-%06d.tar"; "" for npy
}

// ParseTarget reads tar:FOLDER/NAME-%06d.tar or npy:FOLDER.
func ParseTarget(text string) (Target, error) {
	kind, where, _ := strings.Cut(text, ":")
	if where == "" || kind != "tar" && kind != "npy" {
		return Target{}, fmt.Errorf("%q: takes tar:PATTERN, such as tar:out/train-%%06d.tar, or npy:FOLDER", text)
	}
	if kind == "npy" {
		return Target{Kind: kind, Dir: filepath.Clean(where)}, nil
	}
	t := Target{Kind: kind, Dir: filepath.Dir(where), Name: filepath.Base(where)}
	if !shardName.MatchString(t.Name) || !utf8.ValidString(t.Name) {
		return Target{}, fmt.Errorf("%q: the name of a shard is %q: takes one with a single %%d or %%06d for its number, that ends in .tar: tar:out/train-%%06d.tar", text, t.Name)
	}
	return t, nil
}

var shardName = regexp.MustCompile(`^([^%]*)%(0[1-9]|01[0-8])?d([^%]*)\.tar$`)

// shard is the name of the shard of a number.
func (t Target) shard(number int) string { return fmt.Sprintf(t.Name, number) }

// isShard reports whether a file name is that of a shard, and which.
func (t Target) isShard(name string) (number int, ok bool) {
	if t.Kind != "tar" {
		return 0, false
	}
	parts := shardName.FindStringSubmatch(t.Name)
	digits := strings.TrimSuffix(strings.TrimPrefix(name, parts[1]), parts[3]+".tar")
	number, err := strconv.Atoi(digits)
	return number, err == nil && number >= 0 && t.shard(number) == name
}

// beside is the name of a file that is beside the samples, and tells it from those
// of other targets in the same folder.
func (t Target) beside(name string) string {
	if t.Kind == "npy" {
		return name
	}
	parts := shardName.FindStringSubmatch(t.Name)
	if stem := strings.Trim(strings.Trim(parts[1], "-_.")+"."+strings.Trim(parts[3], "-_."), "."); stem != "" {
		return stem + "." + name
	}
	return name
}

func (t Target) String() string {
	if t.Kind == "npy" {
		return "npy:" + t.Dir
	}
	return "tar:" + filepath.Join(t.Dir, t.Name)
}
