package ffmpeg

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Variable names the environment's variable that says which FFmpeg decodes: "system", or
// a folder with FFmpeg's libraries.
const Variable = "HEADRACE_FFMPEG"

const (
	ours       = "libhrav.so" // with FFmpeg beside it
	ofSystem   = "libhrav.*.so"
	systemName = "system"
)

// choice is what to open.
type choice struct {
	libraries []string // FFmpeg's, each after those that it needs; the shims find them loaded
	shims     []string // to try, in their order
}

// choose finds what to open. Its errors say what is missing.
func choose(chosen, program string) (choice, error) {
	if chosen != "" && chosen != systemName {
		return chooseFolder(chosen, program)
	}

	var all []string
	for _, folder := range folders(program) {
		if chosen == "" {
			all = append(all, matching(folder, ours)...)
		}
		all = append(all, matching(filepath.Join(folder, systemName), ofSystem)...)
	}
	if len(all) == 0 {
		return choice{}, errors.New("nothing that opens it is beside the engine")
	}
	return choice{shims: all}, nil
}

// chooseFolder takes a folder's own shims, or those beside the engine for the libraries
// in the folder.
func chooseFolder(folder, program string) (choice, error) {
	if own := matching(folder, ours, ofSystem); len(own) > 0 {
		return choice{shims: own}, nil
	}

	var c choice
	for _, name := range []string{"libavutil", "libswresample", "libswscale", "libavcodec", "libavformat", "libavfilter"} {
		c.libraries = append(c.libraries, matching(folder, name+".so.*[0-9]")...)
	}
	// The full names, as in libavcodec.so.61.19.101, are those of the same files.
	c.libraries = slices.DeleteFunc(c.libraries, func(path string) bool { return strings.Count(filepath.Base(path), ".") > 2 })

	var have []string
	for _, path := range c.libraries {
		release, ok := strings.CutPrefix(filepath.Base(path), "libavcodec.so.")
		if !ok {
			continue
		}
		have = append(have, release)
		for _, beside := range folders(program) {
			c.shims = append(c.shims, matching(filepath.Join(beside, systemName), "libhrav."+release+".so")...)
		}
	}
	switch {
	case len(have) == 0:
		return choice{}, fmt.Errorf("%s=%s has no libavcodec.so.N", Variable, folder)
	case len(c.shims) == 0:
		return choice{}, fmt.Errorf("%s=%s has libavcodec %s, and nothing that opens that release is beside the engine",
			Variable, folder, strings.Join(have, " and "))
	}
	return c, nil
}

// matching returns a folder's libraries of these names, the newest first of each.
func matching(folder string, patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(folder, pattern))
		slices.SortFunc(found, func(a, b string) int { return release(b) - release(a) })
		all = append(all, found...)
	}
	return all
}

// folders are where shims may be: beside the folder of the engine in the Python package,
// beside the engine in an archive, and in the package of a clone whose bin/ has the
// engine.
func folders(program string) []string {
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	here := filepath.Dir(program)
	above := filepath.Dir(here)
	return []string{filepath.Join(above, "_av"), filepath.Join(here, "_av"), filepath.Join(above, "python/src/headrace/_av")}
}

// release is the number in the name of a library, as in libhrav.59.so and
// libavcodec.so.59.
func release(path string) int {
	for _, part := range strings.Split(filepath.Base(path), ".") {
		if n, err := strconv.Atoi(part); err == nil {
			return n
		}
	}
	return 0
}
