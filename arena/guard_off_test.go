//go:build !headrace_debug

package arena

import "testing"

// Without guards a slot costs nothing but its pages.
func TestNoGuards(t *testing.T) {
	if Guarded || stride(int(pageSize)) != pageSize || stride(1) != pageSize {
		t.Fatalf("guarded: %v; a page takes %d bytes", Guarded, stride(int(pageSize)))
	}
}
