package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/headrace/headrace"
)

// journalVersion is the version of the form of journals and manifests.
const journalVersion = 1

// journal says what is on the disk. Everything in it was there before it was written.
type journal struct {
	Version  int            `json:"headrace_journal"`
	Identity Identity       `json:"identity"`
	State    headrace.State `json:"state"` // where the run goes on
	Epochs   []Epoch        `json:"epochs"`
	Files    []File         `json:"files"`
}

// Identity has the settings that must be the same for a run to be resumed.
type Identity struct {
	Target       string `json:"target"`         // "npy", or the name of the shards; the folder may have another name next time
	Recipe       string `json:"recipe"`         // fingerprint
	Part         string `json:"part,omitempty"` // "3/16"; "": all
	Samples      int64  `json:"source_samples"`
	Epochs       int    `json:"epochs"`
	Fused        bool   `json:"fused"`
	Decoder      string `json:"decoder"`
	ShardBytes   int64  `json:"shard_bytes,omitempty"`
	ShardSamples int64  `json:"shard_samples,omitempty"`
	Images       string `json:"images,omitempty"`
	Quality      int    `json:"quality,omitempty"`
}

// Epoch is what became of an epoch.
type Epoch struct {
	Samples  int64 `json:"samples"`          // written: where several are packed into a row, rows
	Packed   int64 `json:"packed,omitempty"` // samples besides, of rows that have several
	Lost     int64 `json:"lost"`
	Replaced int64 `json:"replaced,omitempty"` // of those written, samples that came instead of others
}

// File is one that was written.
type File struct {
	Name     string `json:"name"`
	Samples  int64  `json:"samples"`
	Bytes    int64  `json:"bytes"`
	Complete bool   `json:"complete,omitempty"` // it has its name; false: it is a part. In a manifest all are complete, and it is left out
}

// parseJournal reads a journal, and refuses one that this command cannot have written.
func parseJournal(text []byte) (j journal, err error) {
	if err := strict(text, &j); err != nil {
		return journal{}, err
	}
	if j.Version != journalVersion {
		return journal{}, fmt.Errorf("headrace_journal is %d, this engine reads %d", j.Version, journalVersion)
	}
	return j, errors.Join(checkEpochs(j.Epochs, j.Identity), checkFiles(j.Files))
}

func checkEpochs(epochs []Epoch, run Identity) error {
	if len(epochs) > run.Epochs {
		return fmt.Errorf("it counts %d epochs of %d", len(epochs), run.Epochs)
	}
	var samples int64
	for _, e := range epochs {
		switch {
		case e.Samples < 0, e.Samples > maxSamples-samples, // all of them are added up
			e.Packed < 0, e.Packed > maxSamples,
			e.Replaced < 0, e.Replaced > e.Samples+e.Packed, // what came instead was yielded
			e.Lost < 0, e.Lost > maxSamples:
			return fmt.Errorf("an epoch has %d samples and lost %d", e.Samples, e.Lost)
		}
		samples += e.Samples
	}
	return nil
}

// checkFiles refuses names that lead elsewhere: with --overwrite these files are removed.
func checkFiles(files []File) error {
	for _, f := range files {
		switch {
		case f.Bytes < 0, f.Samples < 0, f.Samples > maxSamples,
			f.Name != filepath.Base(f.Name), // it is in another folder
			f.Name == ".", f.Name == "..", f.Name == "/":
			return fmt.Errorf("it names a file %q of %d bytes and %d samples", f.Name, f.Bytes, f.Samples)
		}
	}
	return nil
}

// maxSamples bounds what a journal may count, far beyond what anyone writes.
const maxSamples = 1 << 53

// strict reads one JSON value without unknown keys.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("something follows the JSON value")
	}
	return nil
}

// differences says what was otherwise when a run began.
func (i Identity) differences(now Identity) (all []string) {
	differ := func(was, is any, what string) {
		if was != is {
			all = append(all, fmt.Sprintf("%s was %v, and is %v", what, was, is))
		}
	}
	if i.Recipe != now.Recipe {
		all = append(all, "the recipe, its variables or its seed differed")
	}
	differ(i.Target, now.Target, "--out")
	differ(cmp.Or(i.Part, "none"), cmp.Or(now.Part, "none"), "--part")
	differ(i.Samples, now.Samples, "the number of samples in the source")
	differ(i.Epochs, now.Epochs, "--epochs")
	differ(i.Fused, now.Fused, "--fuse")
	differ(i.ShardBytes, now.ShardBytes, "--shard-size")
	differ(i.ShardSamples, now.ShardSamples, "--shard-samples")
	differ(i.Images, now.Images, "--images")
	differ(i.Quality, now.Quality, "--quality")
	differ(i.Decoder, now.Decoder, "the decoder, by which pixels differ,")
	return all
}

// replaceJSON replaces a journal or a manifest on the disk.
func replaceJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}
