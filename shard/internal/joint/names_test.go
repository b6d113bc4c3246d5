package joint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/shard/shardtest"
)

func file(t *testing.T, name string) *shardtest.File {
	t.Helper()
	f, err := shardtest.Folder{name: nil}.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Sets of several folders have shards of one name.
func TestNames(t *testing.T) {
	var n joint.Names
	all := []string{"a/shard.0", "b/shard.0", "shard.0"}
	for _, name := range all {
		if err := n.Add(file(t, "index.json"), name); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(n.All(), all) {
		t.Errorf("%q", n.All())
	}
	for path, want := range map[string]int{
		"a/shard.0": 0, "/data/set/b/shard.0": 1, "/data/set/shard.0": 2, "shard.0": 2, "/a/b/shard.0": 1, "c/shard.0": 2,
	} {
		if i, err := n.Find(file(t, path)); err != nil || i != want {
			t.Errorf("%s: %d, %v", path, i, err)
		}
	}
	for _, path := range []string{"shard.1", "/data/a/shard.00", "shard.0/x"} {
		if i, err := n.Find(file(t, path)); err == nil {
			t.Errorf("%s is shard %d", path, i)
		}
	}
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../../x", "a//b", `a\b`, `..\x`, "a/"} {
		if err := n.Add(file(t, "index.json"), name); err == nil || !strings.Contains(err.Error(), "not the name of a shard") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
