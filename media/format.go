package media

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Format is a kind of image that is known by how its data begin.
type Format struct {
	Name     string                          // in Info.Format, Register and DecoderFor
	Title    string                          // as people write it
	Suffixes []string                        // of its files: in lower case, with the dot
	Begins   func(data []byte) bool          // is asked of any data, also of none
	Probe    func(data []byte) (Info, error) // reads the header, as [Probe] does
}

// AddFormat has [Probe] know another format, after all others. Its decoder is registered
// apart. Packages call it in an init function.
func AddFormat(f Format) {
	formats.mu.Lock()
	defer formats.mu.Unlock()
	all := append(slices.Clone(known()), f)
	formats.all.Store(&all)
}

// Suffixes are those of the files of all formats.
func Suffixes() (all []string) {
	for _, f := range known() {
		all = append(all, f.Suffixes...)
	}
	return all
}

// formats are read for each image, and seldom change.
var formats struct {
	mu  sync.Mutex // of who changes them
	all atomic.Pointer[[]Format]
}

func known() []Format { return *formats.all.Load() }

// knownFormats names them: "JPEG, PNG and WebP are".
func knownFormats() string {
	var titles []string
	for _, f := range known() {
		titles = append(titles, f.Title)
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], ", ") + " and " + titles[last] + " are"
}
