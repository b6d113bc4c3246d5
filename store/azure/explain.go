package azure

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/store/steady"
)

// asked is the subject of a request.
type asked struct {
	blob
	host    string
	from    string // of the credentials
	isWrite bool
}

// explained says what an answer means, and what to do about it. It has no secret: not the
// text of the answer either, which may have a signature.
func explained(err error, r *steady.Refusal, code string, a asked) error {
	says := code
	if says == "" {
		says = http.StatusText(r.Status)
	}
	say := func(format string, args ...any) error {
		return fmt.Errorf("%s (%w, %s)", fmt.Sprintf(format, args...), err, says)
	}

	// The code says most. Without one, of a proxy, the status does.
	isNone := strings.HasPrefix(a.from, "none")
	isDenied := r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden
	switch code {
	case "ContainerNotFound":
		return say("there is no container %q at %s: see its name, and AZURE_STORAGE_ACCOUNT", a.container, a.host)
	case "ResourceNotFound", "PublicAccessNotPermitted", "NoAuthenticationInformation":
		isDenied = isNone // a private container is not told to those without credentials
	case "AuthenticationFailed":
		return say("%s does not accept the credentials, which are of %s: copy the key or SAS again, or get another token; they "+
			"may have expired, and the clock of this machine must be right", a.host, a.from)
	case "KeyBasedAuthenticationNotPermitted":
		return say("the account allows no keys: unset the one of %s, and use az login or another identity", a.from)
	case "InvalidAuthenticationInfo":
		return say("%s does not accept the token, which is of %s: az login, or as you got it", a.host, a.from)
	case "BlobArchived", "BlobBeingRehydrated":
		return say("the blob is in the archive tier: rehydrate it first (az storage blob set-tier)")
	case "AuthorizationSourceIPMismatch", "AuthorizationFailure":
		return say("%s denies access: its firewall, or the SAS of %s, may not allow this machine", a.host, a.from)
	}
	rights, role := "read and list blobs", "Storage Blob Data Reader"
	if a.isWrite {
		rights, role = "write and delete blobs", "Storage Blob Data Contributor"
	}
	switch {
	case isDenied && isNone:
		return say("access to the container %q is denied without credentials: az login, or set AZURE_STORAGE_KEY or "+
			"AZURE_STORAGE_SAS_TOKEN (%s)", a.container, a.from)
	case isDenied:
		return say("access to the container %q is denied: the credentials, which are of %s, need to %s, as in the role %s",
			a.container, a.from, rights, role)
	case r.Status == http.StatusNotFound:
		return err
	}
	return say("the service refuses the request")
}
