package change

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// AppMaker exchanges a code for the GitHub App that it stands for. It is the forge, as far
// as this package has to know it.
type AppMaker interface {
	// MakeApp fails with NotFound when the forge does not know the code (any more), and with
	// Unavailable when it gave no answer: then the code may be used up.
	MakeApp(ctx context.Context, baseURL, code string) (MadeApp, error)
}

// MadeApp is an App that a forge made. Its secrets are in this answer and in no other.
type MadeApp struct {
	ID            int64
	URL           string // its page; may be empty
	PrivateKey    []byte // PEM
	WebhookSecret []byte // empty: the forge gave none
}

// AppPlace is where the credential of an App is saved: a secret that runner pools name.
type AppPlace struct {
	Project, Environment string // empty: those of the connection
	Secret               string // empty: the connection's name with -app
}

// BeginAppInput asks to make an App for a connection, in the caller's browser.
type BeginAppInput struct {
	Connection   string
	Organization string
	AppPlace
}

// BegunApp is an App that is being made, with what the forge is to bring back.
type BegunApp struct {
	slipway.Connection
	Creation slipway.AppCreation
	State    string // unguessable; kept as a hash
}

// FinishAppInput is what a browser brings back from the forge.
type FinishAppInput struct{ Connection, State, Code string }

// TakeAppInput gives a connection an App without a browser of ours: by the code that the
// forge gave, or by what its page shows.
type TakeAppInput struct {
	Connection string
	AppPlace
	Code   string
	AppID  int64  // in place of Code,
	AppKey []byte // with its private key, PEM
}

// AppTaken is a connection with its App.
type AppTaken struct {
	slipway.Connection
	Secret slipway.Secret // that holds the App's credential
	In     string         // the environment of the secret
	// InsteadOf is the name that was asked for, when another secret took it meanwhile.
	InsteadOf string
	// KeptHook is set when the forge gave no webhook secret: the one before goes on.
	KeptHook bool
}

const (
	// appWithin is how long a person has at the forge. Its code lasts as long again, from when
	// the App was made there.
	appWithin = time.Hour
	// makeWithin and keepWithin bound an exchange: how long the forge may take, and then our
	// own database.
	makeWithin = 30 * time.Second
	keepWithin = 90 * time.Second
	// askWithin is when an exchange that has not ended was cut off: a process died in it. The
	// minute more is for clocks that differ.
	askWithin = makeWithin + keepWithin + time.Minute
)

var (
	organizationForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$`)
	codeForm         = regexp.MustCompile(`^[A-Za-z0-9_-]{8,200}$`)
)

// BeginApp begins to make an App for a connection, in place of one that was begun before.
// Only a browser can go on with it: what comes back is held against its session.
func (s *Service) BeginApp(ctx context.Context, c slipway.Caller, in BeginAppInput) (out BegunApp, err error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return out, err
	}
	if c.SessionID == "" {
		return out, slipway.Errorf(slipway.Invalid, "an App is made in a browser that is signed in").WithHint("open the connection's page, or give the code that GitHub gave")
	}
	var f faults
	if !organizationForm.MatchString(in.Organization) {
		f.add("organization", "it is not the name of an organization", "copy it from the address of its page: https://github.com/NAME")
	}
	if err := f.err("the App"); err != nil {
		return out, err
	}
	out.State = rand.Text() + rand.Text()
	err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		if out.Connection, err = connection(ctx, tx, c, in.Connection); err != nil {
			return err
		}
		a, err := prepareApp(ctx, tx, c, out.Connection, in.AppPlace)
		if err != nil {
			return err
		}
		a.Organization, a.StateHash, a.Session = in.Organization, hashState(out.State), c.SessionID
		if out.Creation, err = tx.PutAppCreation(ctx, a); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"connection.begin-app", "connection", out.ID, out.Name, nil,
			facts{"organization": in.Organization, "secret": slipway.EnvironmentRef(a.Project, a.Environment) + "/" + a.Secret}})
	})
	return out, err
}

func hashState(state string) []byte {
	sum := sha256.Sum256([]byte(state))
	return sum[:]
}

// prepareApp refuses what could not be finished, before anybody goes to the forge.
func prepareApp(ctx context.Context, tx *store.Tx, c slipway.Caller, n slipway.Connection, p AppPlace) (a slipway.AppCreation, err error) {
	if err := withoutApp(n); err != nil {
		return a, err
	}
	if p.Project == "" && p.Environment == "" {
		p.Project, p.Environment = n.Project, n.Environment
	}
	if p.Secret == "" {
		p.Secret = strings.TrimSuffix(n.Name[:min(len(n.Name), slipway.MaxName-len("-app"))], "-") + "-app"
	}
	var f faults
	if p.Project == "" || p.Environment == "" {
		f.add("environment", "it is missing", "name the environment whose pools are to use the App, as project/environment")
	}
	f.is("secret", slipway.CheckName("a secret", p.Secret))
	if err := f.err("the App"); err != nil {
		return a, err
	}
	e, err := environment(ctx, tx, c, p.Project, p.Environment)
	if err != nil {
		return a, err
	}
	if _, err := tx.Secret(ctx, e.ID, p.Secret); err == nil {
		return a, slipway.Errorf(slipway.Conflict, "there is a secret %s in %s already", p.Secret, e.Ref()).WithHint("choose another name for the App's credential")
	} else if !slipway.Is(err, slipway.NotFound) {
		return a, err
	}
	if err := unasked(ctx, tx, n); err != nil {
		return a, err
	}
	return slipway.AppCreation{
		ConnectionID: n.ID, EnvironmentID: e.ID, Project: e.Project, Environment: e.Name, Secret: p.Secret, UserID: c.UserID, ExpiresAt: tx.Now.Add(appWithin),
	}, nil
}

func withoutApp(n slipway.Connection) error {
	if n.AppID != 0 {
		return slipway.Errorf(slipway.Conflict, "the connection %s has its App already: %d", n.Name, n.AppID).
			WithHint("make another connection for another App: slipway connections create")
	}
	return nil
}

// unasked refuses while a code of the connection is being exchanged.
func unasked(ctx context.Context, tx *store.Tx, n slipway.Connection) error {
	a, err := tx.AppCreation(ctx, n.ID)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return nil
	case err != nil:
		return err
	case !a.AskedAt.IsZero() && tx.Now.Sub(a.AskedAt) < askWithin:
		return slipway.Errorf(slipway.Conflict, "GitHub is being asked for the App of the connection %s", n.Name).WithHint("look again in three minutes")
	}
	return nil
}

// FinishApp exchanges the code that a browser brought back. The exchange is on record
// before GitHub is asked, and a browser that goes away does not end it: what GitHub answers
// is shown once.
func (s *Service) FinishApp(ctx context.Context, c slipway.Caller, in FinishAppInput) (out AppTaken, err error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return out, err
	}
	if err := checkCode(in.Code); err != nil {
		return out, err
	}
	var n slipway.Connection
	var a slipway.AppCreation
	err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		if n, err = connection(ctx, tx, c, in.Connection); err != nil {
			return err
		}
		if err := withoutApp(n); err != nil {
			return err
		}
		a, err = tx.AppCreation(ctx, n.ID)
		if err != nil && !slipway.Is(err, slipway.NotFound) {
			return err
		}
		// One answer to all that does not fit: which part it was helps nobody but who guesses.
		if err != nil || c.SessionID == "" || a.Session != c.SessionID || a.UserID != c.UserID || subtle.ConstantTimeCompare(a.StateHash, hashState(in.State)) != 1 {
			return slipway.Errorf(slipway.Forbidden, "this way back from GitHub does not belong to an App that was begun here in this session").
				WithHint("%s", ByCode(n.Name))
		}
		// GitHub's hour began later than ours: its code may be good.
		if !tx.Now.Before(a.ExpiresAt) {
			return slipway.Errorf(slipway.Conflict, "this way back from GitHub was kept for an hour, and that is over").WithHint("%s", ByCode(n.Name))
		}
		a, err = ask(ctx, tx, n, a)
		return err
	})
	if err != nil {
		return out, err
	}
	return s.exchange(ctx, c, n, a, in.Code)
}

// ByCode is what a person can do who comes back from the forge and is not let in. Another
// site may have led them here, with an App of its own.
func ByCode(connection string) string {
	return "if it was you who just made the App at GitHub, keep it: within an hour its code, from the address of this page, can be given with  slipway connections app " +
		connection + " --code CODE ; if not, close this page"
}

// byKey takes an App whose code is used up.
func byKey(connection, app string) string {
	return "make a new key on the App's page at GitHub and give it with  slipway connections app " + connection + " --app-id " + app + " --app-key-file FILE"
}

func checkCode(code string) error {
	if !codeForm.MatchString(code) {
		return invalid("code", "it is none of GitHub's", "copy it whole: it stands behind code= in the address to which GitHub leads back")
	}
	return nil
}

// ask notes that GitHub is about to be asked. One exchange alone gets past it.
func ask(ctx context.Context, tx *store.Tx, n slipway.Connection, a slipway.AppCreation) (slipway.AppCreation, error) {
	if err := unasked(ctx, tx, n); err != nil {
		return a, err
	}
	cutOff := !a.AskedAt.IsZero()
	if err := tx.MoveAppCreation(ctx, a, tx.Now, a.Lost || cutOff, ""); err != nil {
		return a, err
	}
	return tx.AppCreation(ctx, n.ID)
}

// TakeApp gives a connection an App without a session: its caller has proved who it is by
// a token, which no other site can have a browser send.
func (s *Service) TakeApp(ctx context.Context, c slipway.Caller, in TakeAppInput) (out AppTaken, err error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return out, err
	}
	var f faults
	switch {
	case (in.Code == "") == (in.AppID == 0):
		f.add("code", "one of code and app_id is needed", "give the code that GitHub gave, or the App ID with its private key")
	case in.AppID < 0:
		f.add("app_id", "it is negative", "copy the App ID from the App's page")
	case in.AppID > 0:
		checkAppKey(&f, in.AppKey)
	case len(in.AppKey) > 0:
		f.add("app_key", "it is given beside a code", "leave it out: the code is exchanged for the key")
	}
	if err := f.err("the App"); err != nil {
		return out, err
	}
	if in.AppID == 0 {
		if err := checkCode(in.Code); err != nil {
			return out, err
		}
	}
	var n slipway.Connection
	var a slipway.AppCreation
	err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		if n, err = connection(ctx, tx, c, in.Connection); err != nil {
			return err
		}
		if a, err = prepareApp(ctx, tx, c, n, in.AppPlace); err != nil {
			return err
		}
		if in.AppID != 0 {
			out, err = s.keepApp(ctx, tx, c, n, a, MadeApp{ID: in.AppID, PrivateKey: in.AppKey})
			return err
		}
		a, err = askFor(ctx, tx, n, a)
		return err
	})
	if err != nil || in.AppID != 0 {
		return out, err
	}
	return s.exchange(ctx, c, n, a, in.Code)
}

// askFor notes that a code that no browser brought is about to be exchanged for a. Somebody
// may be at the forge for the same connection: their way back stays, for this code may be
// wrong.
func askFor(ctx context.Context, tx *store.Tx, n slipway.Connection, a slipway.AppCreation) (slipway.AppCreation, error) {
	before, err := tx.AppCreation(ctx, n.ID)
	if err != nil && !slipway.Is(err, slipway.NotFound) {
		return a, err
	}
	if before.Session != "" {
		asked, err := ask(ctx, tx, n, before)
		asked.EnvironmentID, asked.Project, asked.Environment, asked.Secret = a.EnvironmentID, a.Project, a.Environment, a.Secret
		return asked, err
	}
	a.Lost = before.Lost || !before.AskedAt.IsZero()
	a.StateHash = hashState(rand.Text()) // nobody comes back with it
	a.AskedAt = tx.Now
	return tx.PutAppCreation(ctx, a)
}

// exchange asks GitHub, and keeps what it answers.
func (s *Service) exchange(ctx context.Context, c slipway.Caller, n slipway.Connection, a slipway.AppCreation, code string) (out AppTaken, err error) {
	ctx = context.WithoutCancel(ctx) // the answer is shown once, whoever waits for it
	made, err := s.makeApp(ctx, n, code)
	if err != nil {
		return out, s.unmade(ctx, n, a, err)
	}
	keeping, stop := context.WithTimeout(ctx, keepWithin)
	defer stop()
	if out, err = s.keepInTime(keeping, c, n, a, made); err == nil {
		return out, nil
	}
	kind, cause := slipway.KindOf(err), "it could not be stored"
	var person *slipway.Error
	if errors.As(err, &person) && kind != slipway.Internal {
		cause = person.Msg
	}
	e := &slipway.Error{
		Kind: kind, Err: err, Msg: fmt.Sprintf("GitHub made the App %d, and its key was lost: %s", made.ID, cause),
		Hint: byKey(n.Name, strconv.FormatInt(made.ID, 10)) + " ; its page is " + made.URL,
	}
	if !definite(err) {
		// The database may have stored it and not have come to say so.
		e.Msg = fmt.Sprintf("GitHub made the App %d, and whether its key was stored is not known: %s", made.ID, cause)
		e.Hint = "look first whether the connection has it: slipway connections get " + n.Name + " ; if not, " + e.Hint
	}
	return AppTaken{}, e
}

// keepInTime stores an App until its context ends. Only the database may be away, and for how
// long is worth waiting: there is no other copy of the key.
func (s *Service) keepInTime(ctx context.Context, c slipway.Caller, n slipway.Connection, a slipway.AppCreation, made MadeApp) (out AppTaken, err error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
			out, err = s.keepApp(ctx, tx, c, n, a, made)
			return err
		})
		if err == nil || definite(err) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(wait):
		}
	}
}

// definite reports whether nothing was stored, and never will be.
func definite(err error) bool {
	return slipway.Is(err, slipway.NotFound) || slipway.Is(err, slipway.Conflict)
}

func (s *Service) makeApp(ctx context.Context, n slipway.Connection, code string) (MadeApp, error) {
	if s.Apps == nil {
		return MadeApp{}, slipway.Errorf(slipway.Unavailable, "this server does not reach the forge")
	}
	ctx, stop := context.WithTimeout(ctx, makeWithin)
	defer stop()
	made, err := s.Apps.MakeApp(ctx, n.BaseURL, code)
	if err != nil {
		return made, err
	}
	if made.ID <= 0 || !rsaKey(made.PrivateKey) {
		return made, slipway.Errorf(slipway.Unavailable, "GitHub's answer has no App in it")
	}
	return made, nil
}

// unmade notes that an exchange came to nothing, and says what there is to do.
func (s *Service) unmade(ctx context.Context, n slipway.Connection, a slipway.AppCreation, cause error) error {
	kind := slipway.KindOf(cause)
	unknown := kind == slipway.Unavailable || kind == slipway.Internal // it may have been done all the same
	e := &slipway.Error{Kind: kind, Err: cause}
	var person *slipway.Error
	if errors.As(cause, &person) {
		e.RetryAfter = person.RetryAfter
	}
	again := "try again within the hour: reload the page, or give its code with  slipway connections app " + n.Name + " --code CODE"
	switch {
	case unknown:
		e.Kind, e.Msg = slipway.Unavailable, "GitHub gave no answer that was understood; whether it has taken the code is not known"
		e.Hint = again
	case kind == slipway.NotFound || kind == slipway.Invalid:
		e.Kind, e.Msg = slipway.Conflict, "GitHub does not know the code: it was used, or its hour is over"
		e.Hint = "copy it whole from the address to which GitHub led back; if it was right, " + byKey(n.Name, "ID")
		if a.Lost {
			e.Msg = "GitHub does not know the code any more, and an answer was lost before: the App is there, and its key cannot be fetched again"
			e.Hint = byKey(n.Name, "ID")
		}
	case person != nil:
		e.Msg, e.Hint = person.Msg, again
	}
	err := s.Store.InTx(ctx, func(tx *store.Tx) error {
		return tx.MoveAppCreation(ctx, a, time.Time{}, a.Lost || unknown, e.Msg)
	})
	if err != nil && !isStale(err) {
		return errors.Join(e, err)
	}
	return e
}

// keepApp gives the connection its App: the key and the webhook's secret are sealed, and
// the credential is saved for pools, all in one.
func (s *Service) keepApp(ctx context.Context, tx *store.Tx, c slipway.Caller, n slipway.Connection, a slipway.AppCreation, made MadeApp) (out AppTaken, err error) {
	var sealed store.ConnectionSecrets
	if out.Connection, sealed, err = tx.HoldConnection(ctx, n.ID); err != nil {
		return out, err
	}
	if out.AppID == made.ID && len(sealed.App) > 0 {
		// It was stored before, and the database did not come to say so.
		out.In, out.Secret.Name = path.Split(out.AppCredential)
		out.In = strings.TrimSuffix(out.In, "/")
		return out, nil
	}
	hook, err := s.openHook(ctx, tx, n.Hook, sealed.Hook)
	if err != nil && len(made.WebhookSecret) == 0 {
		return out, err
	}
	if out.KeptHook = len(made.WebhookSecret) == 0; !out.KeptHook {
		next := hookSecrets{Current: string(made.WebhookSecret)}
		if err == nil { // one that cannot be opened any more is no reason to refuse a new one
			next.Before, next.Until = hook.Current, tx.Now.Add(SecretOverlap)
		}
		hook = next
	}
	again, err := s.sealConnection(ctx, tx, n.Hook, hook, made.PrivateKey)
	if err != nil {
		return out, err
	}
	if out.Secret, err = s.keepCredential(ctx, tx, c, a, made); err != nil {
		return out, err
	}
	if out.Secret.Name != a.Secret {
		out.InsteadOf = a.Secret
	}
	out.In = slipway.EnvironmentRef(a.Project, a.Environment)
	out.AppID, out.AppURL, out.AppCredential = made.ID, made.URL, out.In+"/"+out.Secret.Name
	if err := tx.SetConnectionApp(ctx, out.Connection, again); err != nil {
		return out, err
	}
	if err := tx.DeleteAppCreation(ctx, n.ID); err != nil {
		return out, err
	}
	if err := s.wake(ctx, tx, slipway.WakeRecover, n.ID); err != nil {
		return out, err
	}
	return out, record(ctx, tx, c, deed{"connection.take-app", "connection", n.ID, n.Name, connectionFacts(n), connectionFacts(out.Connection)})
}

// keepCredential saves the App as the credential that runner pools name. Somebody may have
// taken the name meanwhile; the key must not be lost over that, so another one is found.
func (s *Service) keepCredential(ctx context.Context, tx *store.Tx, c slipway.Caller, a slipway.AppCreation, made MadeApp) (out slipway.Secret, err error) {
	number := strconv.FormatInt(made.ID, 10)
	// The App's number, as the search for lost deliveries has it: both then share one budget.
	value, err := json.Marshal(map[string]string{"app": number, "private_key": string(made.PrivateKey)})
	if err != nil {
		return out, fmt.Errorf("write the App as a credential: %w", err)
	}
	name := a.Secret
	if _, err := tx.Secret(ctx, a.EnvironmentID, name); err == nil {
		name = strings.TrimSuffix(name[:min(len(name), slipway.MaxName-len(number)-1)], "-") + "-" + number
	} else if !slipway.Is(err, slipway.NotFound) {
		return out, err
	}
	place, err := SecretPlace(ctx, tx, a.EnvironmentID, name)
	if err != nil {
		return out, err
	}
	sealed, err := s.Box.Seal(place, value)
	if err != nil {
		return out, err
	}
	if out, err = tx.PutSecret(ctx, a.EnvironmentID, name, sealed, c.UserName); err != nil {
		return out, err
	}
	if err := s.wakePoolsWith(ctx, tx, a.EnvironmentID, name); err != nil {
		return out, err
	}
	return out, record(ctx, tx, c, deed{"secret.set", "secret", out.ID, slipway.EnvironmentRef(a.Project, a.Environment) + "/" + name, nil, facts{"version": out.Version}})
}
