package gcs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/store/steady"
)

// reason is the body of an answer that has no object.
type reason struct {
	Message string
	Errors  []struct{ Reason string }
}

func reasonOf(r *steady.Refusal) (why reason) {
	var body struct{ Error reason }
	if json.Unmarshal(r.Body, &body) != nil { // of content, it is a text
		body.Error.Message = string(r.Body)
	}
	return body.Error
}

// isPaid tells whether readers of the bucket pay, and no project was named.
func (r reason) isPaid() bool {
	return strings.Contains(strings.ToLower(r.Message), "requester pays bucket but no user project")
}

// short is the message in a line. It names accounts and rights, and has no secret.
func (r reason) short() string {
	text := strings.Join(strings.Fields(r.Message), " ")
	if len(text) > 300 || strings.Contains(text, "<") {
		return ""
	}
	return text
}

// asked is the subject of a request.
type asked struct {
	bucket, object, project string
	from                    string // of the token
	isWrite                 bool
}

// explained says what an answer means, and what to do about it.
func explained(err error, r *steady.Refusal, why reason, a asked) error {
	says := http.StatusText(r.Status)
	if len(why.Errors) > 0 && why.Errors[0].Reason != "" {
		says = why.Errors[0].Reason
	}
	if text := why.short(); text != "" {
		says += ": " + text
	}

	say := func(format string, args ...any) error {
		return fmt.Errorf("%s (%w, %s)", fmt.Sprintf(format, args...), err, says)
	}
	right := "storage.objects.get"
	role := "Storage Object Viewer"
	switch {
	case a.isWrite:
		right, role = "storage.objects.create and .delete", "Storage Object User"
	case a.object == "":
		right = "storage.objects.list"
	}

	// A text in a message is no contract, so it decides on the advice only.
	isDenied := r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden
	switch {
	case why.isPaid():
		return say("readers of the bucket %q pay: set GOOGLE_CLOUD_PROJECT to the project that does", a.bucket)
	case isDenied && strings.HasPrefix(a.from, "none"):
		return say("access to the bucket %q is denied without credentials: gcloud auth application-default login, or set "+
			"GOOGLE_APPLICATION_CREDENTIALS (%s)", a.bucket, a.from)
	case r.Status == http.StatusUnauthorized:
		return say("the token is not valid: see the credentials, which are of %s", a.from)
	case isDenied && strings.Contains(says, "serviceusage"):
		return say("the account may not spend for the project %q, of GOOGLE_CLOUD_PROJECT: see the credentials, which are of %s",
			a.project, a.from)
	case isDenied:
		return say("access to the bucket %q is denied: the account, which is of %s, needs %s, as in the role %s",
			a.bucket, a.from, right, role)
	case r.Status == http.StatusNotFound && (a.object == "" || strings.Contains(says, "bucket")):
		return say("there is no bucket %q: see its name", a.bucket)
	case r.Status == http.StatusNotFound:
		return err
	}
	return say("the service refuses the request")
}
