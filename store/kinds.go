package store

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// mostKinds bounds the memory for a folder of unique suffixes.
const mostKinds = 64

// kinds counts unlisted files of a named folder by suffix.
type kinds struct {
	all      int
	bySuffix map[string]int
}

func (k *kinds) add(name string) {
	k.all++
	suffix := path.Ext(name)
	if _, known := k.bySuffix[suffix]; known || len(k.bySuffix) < mostKinds {
		if k.bySuffix == nil {
			k.bySuffix = map[string]int{}
		}
		k.bySuffix[suffix]++
	}
}

// nothing returns the error of a folder without a listed suffix, with a pattern for most
// of its files.
func (k *kinds) nothing(folder string, suffixes []string) error {
	hint := ""
	if k.all > 0 && !hasWildcard(folder) {
		most := slices.MaxFunc(slices.Sorted(maps.Keys(k.bySuffix)), func(a, b string) int {
			return cmp.Compare(k.bySuffix[a], k.bySuffix[b])
		})
		pattern, matches := strings.TrimSuffix(folder, "/")+"/**", k.all
		if most != "" && !hasWildcard(most) {
			pattern, matches = pattern+"/*"+most, k.bySuffix[most]
		}
		hint = fmt.Sprintf("; %q matches %d", pattern, matches)
	}
	return fmt.Errorf("%w: the folder %q holds no file that ends in %s (%d others%s)",
		ErrNoFiles, folder, strings.Join(suffixes, ", "), k.all, hint)
}
