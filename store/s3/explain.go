package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/store/steady"
)

// reason is the body of an answer that has no object.
type reason struct {
	Code    string
	Message string
	Region  string

	region string // of the bucket, by the body or a header
}

func reasonOf(r *steady.Refusal) (why reason) {
	xml.Unmarshal(r.Body, &why) // proxies answer in other ways, and nothing is known then
	why.region = why.Region
	if at := r.Header.Get("X-Amz-Bucket-Region"); at != "" {
		why.region = at
	}
	return why
}

// asked is the subject of a request.
type asked struct {
	bucket, key, host, region string
	from                      string // of the credentials
	isWrite                   bool
}

// explained says what an answer means, and what to do about it. It has no secret: not the
// key either, which Amazon puts into some messages.
func explained(err error, r *steady.Refusal, why reason, a asked) error {
	says := why.Code
	if says == "" {
		says = http.StatusText(r.Status)
	}
	say := func(format string, args ...any) error {
		return fmt.Errorf("%s (%w, %s)", fmt.Sprintf(format, args...), err, says)
	}
	// The code says most. Without one, of a proxy or another service, the status does.
	rights := "s3:GetObject for its objects"
	if a.isWrite {
		rights = "s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload for its objects"
	} else if a.key == "" {
		rights = "s3:ListBucket for the bucket"
	}
	switch why.Code {
	case "NoSuchBucket":
		return say("there is no bucket %q at %s: see its name, and AWS_ENDPOINT_URL if it is elsewhere", a.bucket, a.host)
	case "InvalidAccessKeyId":
		return say("the access key is not known at %s: see the credentials, which are of %s", a.host, a.from)
	case "SignatureDoesNotMatch":
		return say("the secret key does not belong to the access key, or a proxy changes requests: "+
			"see the credentials, which are of %s", a.from)
	case "ExpiredToken", "TokenRefreshRequired", "InvalidToken":
		return say("the credentials have expired: renew those of %s (aws sso login, or as you got them)", a.from)
	case "RequestTimeTooSkewed":
		return say("the clock of this machine is wrong by more than 15 minutes: set it")
	case "InvalidObjectState":
		return say("the object is in an archive: restore it first (aws s3api restore-object)")
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return say("the bucket %q is not in the region %s: set AWS_REGION", a.bucket, a.region)
	case "NoSuchKey", "MethodNotAllowed": // of an object that was deleted, with versions
		return err
	}
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		if strings.HasPrefix(a.from, "none") {
			return say("access to the bucket %q is denied without credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "+
				"AWS_SECRET_ACCESS_KEY (%s)", a.bucket, a.from)
		}
		return say("access to the bucket %q is denied: the credentials, which are of %s, need %s, and s3:ListBucket to tell "+
			"objects that are missing; AWS_REQUEST_PAYER=requester if readers pay", a.bucket, a.from, rights)
	case r.Status == http.StatusNotFound:
		return err
	case r.Status >= 300 && r.Status < 400:
		return say("%s redirects, and does not name the region of the bucket %q: set AWS_REGION, or AWS_ENDPOINT_URL", a.host, a.bucket)
	}
	return say("the service refuses the request")
}
