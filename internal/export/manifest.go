package export

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Manifest says what was written. It is there when all of it is complete.
type Manifest struct {
	Version  int           `json:"headrace_export"`
	Samples  int64         `json:"samples"`
	Epochs   []Epoch       `json:"epochs"`
	Fields   []FieldFile   `json:"fields"`
	Files    []File        `json:"files"`
	Classes  []recipe.Path `json:"classes,omitempty"` // names of labels
	Identity Identity      `json:"identity"`          // of the run that wrote it
}

// FieldFile says where a field is.
type FieldFile struct {
	Name   string       `json:"name"`
	File   string       `json:"file,omitempty"`   // npy
	Suffix string       `json:"suffix,omitempty"` // tar: the extension of its files
	DType  string       `json:"dtype,omitempty"`  // of a tensor
	Shape  tensor.Shape `json:"shape,omitzero"`   // of one sample's tensor
	Note   string       `json:"note,omitempty"`
}

// Lost is the number of samples that were lost.
func (m Manifest) Lost() (n int64) {
	for _, e := range m.Epochs {
		n += e.Lost
	}
	return n
}

// Replaced is the number of samples that came instead of others.
func (m Manifest) Replaced() (n int64) {
	for _, e := range m.Epochs {
		n += e.Replaced
	}
	return n
}

// Bytes is the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Bytes
	}
	return n
}

// parseManifest reads a manifest, and refuses one that this command cannot have written.
func parseManifest(text []byte) (m Manifest, err error) {
	if err := strict(text, &m); err != nil {
		return Manifest{}, err
	}
	if m.Version != journalVersion {
		return Manifest{}, fmt.Errorf("headrace_export is %d, this engine reads %d", m.Version, journalVersion)
	}
	return m, errors.Join(checkEpochs(m.Epochs, m.Identity), checkFiles(m.Files))
}

func dtypeName(f headrace.Field) string {
	if f.Kind == sample.Text {
		return ""
	}
	return f.DType.String()
}

func shapeOf(f headrace.Field) tensor.Shape {
	if f.Kind == sample.Text {
		return nil
	}
	return append(tensor.Shape{}, f.Shape...)
}
