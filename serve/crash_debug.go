//go:build headrace_debug

package serve

import "github.com/headrace/headrace/sample"

// BeforeC is called with the key of every sample that is about to be handed to C: tests
// make it crash there. It is set before Serve.
var BeforeC func(key string)

// Begin is cellWriter's, and then BeforeC.
func (w crashingWriter) Begin(cell int, id sample.ID, key string) {
	w.cellWriter.Begin(cell, id, key)
	if BeforeC != nil {
		BeforeC(key)
	}
}

type crashingWriter struct{ cellWriter }

func inFlight(w cellWriter) crashingWriter { return crashingWriter{w} }
