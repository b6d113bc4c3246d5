package ffmpeg

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCandidates(t *testing.T) {
	root := t.TempDir()
	touch := func(names ...string) {
		for _, name := range names {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch("whole/_bin/headrace", "whole/_av/libhrav.so", "whole/_av/system/libhrav.9.so", "whole/_av/system/libhrav.61.so")
	touch("clone/bin/headrace", "clone/python/src/headrace/_av/system/libhrav.59.so", "clone/python/src/headrace/_av/system/made-by")
	touch("archive/headrace", "archive/_av/libhrav.so")
	touch("bare/_bin/headrace", "mine/libhrav.so", "none/libavcodec.so")
	touch("own/libavcodec.so.61", "own/libavcodec.so.61.19.101", "own/libavutil.so.59", "own/libavcodec.so.9", "own/libavformat.so.61", "own/libavcodec.so")
	touch("old/libavcodec.so.58")

	for name, c := range map[string]struct {
		chosen, program string
		want            []string // shims, or a part of the error
		libraries       []string
	}{
		"own first":   {"", "whole/_bin/headrace", []string{"whole/_av/libhrav.so", "whole/_av/system/libhrav.61.so", "whole/_av/system/libhrav.9.so"}, nil},
		"system":      {"system", "whole/_bin/headrace", []string{"whole/_av/system/libhrav.61.so", "whole/_av/system/libhrav.9.so"}, nil},
		"a clone's":   {"", "clone/bin/headrace", []string{"clone/python/src/headrace/_av/system/libhrav.59.so"}, nil},
		"an archive":  {"", "archive/headrace", []string{"archive/_av/libhrav.so"}, nil},
		"a shim":      {"mine", "whole/_bin/headrace", []string{"mine/libhrav.so"}, nil},
		"empty":       {"none", "whole/_bin/headrace", []string{"none has no libavcodec.so.N"}, nil},
		"not built":   {"", "bare/_bin/headrace", []string{"nothing that opens it is beside the engine"}, nil},
		"no system's": {"system", "bare/_bin/headrace", []string{"nothing that opens it is beside the engine"}, nil},
		"too old":     {"old", "whole/_bin/headrace", []string{"old has libavcodec 58, and nothing that opens that release"}, nil},
		"libraries": {"own", "whole/_bin/headrace", []string{"whole/_av/system/libhrav.61.so", "whole/_av/system/libhrav.9.so"},
			[]string{"own/libavutil.so.59", "own/libavcodec.so.61", "own/libavcodec.so.9", "own/libavformat.so.61"}},
	} {
		t.Run(name, func(t *testing.T) {
			chosen := c.chosen
			if chosen != "" && chosen != systemName {
				chosen = filepath.Join(root, chosen)
			}
			got, err := choose(chosen, filepath.Join(root, c.program))
			if err != nil {
				if len(c.want) != 1 || !strings.Contains(err.Error(), c.want[0]) {
					t.Error(err)
				}
				return
			}
			for _, paths := range [][]string{got.shims, got.libraries} {
				for i := range paths {
					paths[i] = strings.TrimPrefix(paths[i], root+"/")
				}
			}
			if !slices.Equal(got.shims, c.want) || !slices.Equal(got.libraries, c.libraries) {
				t.Errorf("%+v", got)
			}
		})
	}
}
