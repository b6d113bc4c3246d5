package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

func TestLocalIsAStore(t *testing.T) {
	root := t.TempDir()
	storetest.Contract(t, store.Local{Root: root}, storetest.Files(t, root))
}

func TestMemoryIsAStore(t *testing.T) {
	m := new(storetest.Memory)
	storetest.Contract(t, m, m.Set)
}

// TestPatternsMeanTheSameInEveryStore compares a store in memory with files.
func TestPatternsMeanTheSameInEveryStore(t *testing.T) {
	root := t.TempDir()
	m, put := new(storetest.Memory), storetest.Files(t, root)
	for _, name := range []string{"a/1.tar", "a/2.tar", "a/2.TAR", "a/b/3.tar", "a/.hidden/4.tar", "a/.5.tar", "b/1.tar", "b/x.json", "c.tar", "a/[1]/6.tar"} {
		put(name, nil)
		m.Set(name, nil)
	}
	for _, pattern := range []string{"*", "*.tar", "*/*.tar", "**/*.tar", "a/**", "a/**/*.tar", "a/?.tar", "a/[12].tar", "a/[!1].tar", "a/.*", "a", "b", "a/b", "a/[[]1]/*", "nothing/*", "**"} {
		list := func(s store.Store) []string {
			table, err := store.Find(t.Context(), s, root, pattern, []string{".tar"})
			if err != nil {
				return []string{strings.SplitN(err.Error(), ":", 3)[1]}
			}
			var all []string
			for i := range table.Len() {
				all = append(all, table.Key(i))
			}
			return all
		}
		if got, want := list(m), list(store.Local{Root: root}); !slices.Equal(got, want) {
			t.Errorf("%q finds %q in memory, and %q in files", pattern, got, want)
		}
	}
}

func TestSchemes(t *testing.T) {
	m := new(storetest.Memory)
	store.Register("storetest", m)
	for _, scheme := range []string{"storetest", "", "file", "a/b", "a:b", "c", "Storetest", "2x", "a b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the scheme %q is taken twice, or can have no store, and was registered", scheme)
				}
			}()
			store.Register(scheme, m)
		}()
	}
}

// TestNamesThatNoDiskHas: between the slashes of an object's name may be anything; two
// dots are never found.
func TestNamesThatNoDiskHas(t *testing.T) {
	m := new(storetest.Memory)
	for _, name := range []string{"a//1.tar", "a/./2.tar", "a/../3.tar", "a/.h/4.tar", "a/.5.tar", "a/6.tar", "a///7.tar",
		"a/..8.tar", "a/...tar"} {
		m.Set(name, nil)
	}
	for pattern, want := range map[string][]string{
		"a":           {"a/./2.tar", "a///7.tar", "a//1.tar", "a/6.tar"},
		"a/**":        {"a/./2.tar", "a///7.tar", "a//1.tar", "a/6.tar"},
		"a//*":        {"a//1.tar"},
		"a//":         {"a///7.tar", "a//1.tar"},
		"a/*/*.tar":   {"a/./2.tar", "a//1.tar"},
		"a/*//7.tar":  {"a///7.tar"},
		"a/**//*.tar": {"a///7.tar", "a//1.tar"},
		"a/./*.tar":   {"a/./2.tar"},
		"a/.*":        {"a/...tar", "a/..8.tar", "a/.5.tar"},
		"a/*/../*":    nil,
		"a/..":        nil,
	} {
		var got []string
		table, err := store.Find(t.Context(), m, "", pattern, []string{".tar"})
		if err == nil {
			for i := range table.Len() {
				got = append(got, table.Key(i))
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q finds %q, %v, want %q", pattern, got, err, want)
		}
	}
	if found, err := store.IsFolder(t.Context(), m, "a//"); !found || err != nil {
		t.Errorf("the folder a// is not found: %v", err)
	}
}

// Who watches silent hosts may watch more of them, or wait for somebody who does.
func TestWatchersMayWatch(t *testing.T) {
	called := 0
	stop := store.Watch(func(store.Silence) {
		called++
		store.Watch(func(store.Silence) {})()
	})
	store.Say(store.Silence{Host: "host"})
	stop()
	store.Say(store.Silence{Host: "host"})
	if called != 1 {
		t.Errorf("it was called %d times", called)
	}
}
