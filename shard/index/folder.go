package index

import (
	"os"
	"path/filepath"
)

// Variable names the folder of indices in the environment.
const Variable = "HEADRACE_CACHE"

// Folders are where indices are kept that are not beside their shards: the one that the
// environment names, which others may write to as well, and this user's own.
func Folders() (all []string) {
	if named := os.Getenv(Variable); named != "" {
		all = append(all, filepath.Join(named, "index"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "headrace", "index"))
	}
	return all
}
