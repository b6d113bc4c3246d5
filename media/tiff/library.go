//go:build cgo

package tiff

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "libtiff.h"
import "C"

import (
	"fmt"
	"os"
	"regexp"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/media"
)

// pathVariable names the file of a library that is taken instead of the one that is
// linked in, or the machine's.
const pathVariable = "HEADRACE_TIFF"

// library is opened once. An error stays, too: if you install a library, you start the
// program again.
var library = sync.OnceValues(func() (*C.hr_tiff_library, error) {
	if path := os.Getenv(pathVariable); path != "" {
		return open(path)
	}
	return open(standard)
})

// open opens a library by its name or path; "" is the one that is linked in.
func open(name string) (*C.hr_tiff_library, error) {
	var c, why *C.char
	if name != "" {
		c = C.CString(name)
		defer C.free(unsafe.Pointer(c))
	}
	if lib := C.hr_tiff_load(c, &why); lib != nil {
		return lib, nil
	}
	defer C.free(unsafe.Pointer(why))
	return nil, fmt.Errorf("%w: decoding TIFF needs libtiff 4.5 or later, which cannot be opened (%s); "+
		"run: apt-get install -y libtiff6, or set %s to its path",
		media.ErrUnsupported, C.GoString(why), pathVariable)
}

// Version returns the version of the library which decodes, such as "4.5.0", or why
// none can be opened.
func Version() (string, error) {
	lib, err := library()
	if err != nil {
		return "", err
	}
	text := C.GoString(C.hr_tiff_version(lib))
	if v := versionNumber.FindString(text); v != "" {
		return v, nil
	}
	return text, nil
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)
