package index

import (
	"os"
	"path/filepath"
)

// Variable names the folder of indices in the environment.
const Variable = "HEADRACE_CACHE"

// Folder is where indices are kept that are not beside their shards; "" where there is no
// such folder.
func Folder() string {
	if own := os.Getenv(Variable); own != "" {
		return filepath.Join(own, "index")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "headrace", "index")
}
