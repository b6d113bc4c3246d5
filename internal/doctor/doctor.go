package doctor

import (
	"io/fs"
	"os"

	"github.com/headrace/headrace/internal/version"
)

// Status is the outcome of an examination.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Low     Status = "low"     // there, but there could be more
	Missing Status = "missing" // not there, or it does not work
)

// Finding is one fact about the machine.
type Finding struct {
	Topic     string `json:"topic"`
	Name      string `json:"name"`
	Status    Status `json:"status"`
	Essential bool   `json:"essential"` // nothing runs where it is missing
	Fact      string `json:"fact"`
	Advice    string `json:"advice,omitempty"` // what it would bring to have it, or more of it, and how to
	Value     any    `json:"value,omitempty"`  // for programs: a number where there is one
}

// Report is all that was found.
type Report struct {
	Build    version.Build `json:"build"`
	Usable   bool          `json:"usable"` // nothing essential is missing
	Findings []Finding     `json:"findings"`
}

// Machine is what is examined.
type Machine struct {
	Root fs.FS // with proc and sys
	// What libraries say that are opened when they are needed; nil: the program cannot
	// open them.
	AVIF   func() (version, codecs string, err error)
	TIFF   func() (version string, err error)
	FFmpeg func() (FFmpeg, error)
	FLAC   string                       // the library that decodes it without FFmpeg; "": none is linked in
	Decode func(recording []byte) error // all of a file, by FFmpeg
}

// Here is the machine that the program runs on, but for the libraries that programs open.
func Here() Machine { return Machine{Root: os.DirFS("/")} }

// Examine looks at everything.
func Examine(m Machine) Report {
	e := examiner{Machine: m, report: Report{Build: version.Here(), Usable: true}}
	for _, examine := range []func(*examiner){
		(*examiner).processor, (*examiner).cores, (*examiner).nodes, (*examiner).kernels,
		(*examiner).memory, (*examiner).pageCache,
		(*examiner).system, (*examiner).descriptors, (*examiner).processes, (*examiner).limits,
		(*examiner).sharing, (*examiner).watching, (*examiner).shm,
		(*examiner).decoders, (*examiner).encoders, (*examiner).video,
	} {
		examine(&e)
	}
	return e.report
}

type examiner struct {
	Machine
	report Report
}

func (e *examiner) add(f Finding) {
	if f.Status == "" {
		f.Status = OK
	}
	if f.Essential && f.Status == Missing {
		e.report.Usable = false
	}
	e.report.Findings = append(e.report.Findings, f)
}

// read is the content of a file; empty where it cannot be read.
func (e *examiner) read(name string) string {
	b, err := fs.ReadFile(e.Root, name)
	if err != nil {
		return ""
	}
	return string(b)
}
