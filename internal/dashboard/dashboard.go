package dashboard

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// Dependencies are the parts that the pages stand on.
type Dependencies struct {
	Auth   Auth
	Change Changes
	View   Views
	// Subscribe begins to listen to what changes from now on. stop ends it and closes the
	// channel. nil: pages are not live.
	Subscribe func() (events <-chan slipway.Event, stop func())

	Jobs      joblog.Source    // fetches logs from the forge; nil: nothing does
	Version   string           // of the server, at the foot of each page
	URL       func() string    // under which people and forges reach us; nil or empty: not known
	PrefectUI func() string    // the address of Prefect's own pages; nil or empty: no links to them
	Log       *slog.Logger     // nil: none
	Now       func() time.Time // nil: the real one
	Stopping  <-chan struct{}  // closed when the server begins to stop; may be nil
}

// Auth is what the pages need of package auth.
type Auth interface {
	Authenticate(ctx context.Context, r *http.Request) (slipway.Caller, error)
	CrossOrigin(next http.Handler) http.Handler
	Login(ctx context.Context, w http.ResponseWriter, r *http.Request, name, password string) (slipway.User, error)
	Logout(ctx context.Context, w http.ResponseWriter, r *http.Request) error
	SetupNeeded(ctx context.Context) (bool, error)
	Setup(ctx context.Context, w http.ResponseWriter, r *http.Request, in auth.SetupInput) (slipway.User, error)
}

// Changes is what the pages can ask for.
type Changes interface {
	Validate(ctx context.Context, c slipway.Caller, in change.SpecInput) (slipway.ApplicationSpec, error)
	Plan(ctx context.Context, c slipway.Caller, in change.SpecInput) (change.Plan, error)
	Deploy(ctx context.Context, c slipway.Caller, in change.DeployInput) (change.Accepted, error)
	PausePools(ctx context.Context, c slipway.Caller, in change.PoolsInput) ([]slipway.RunnerPool, error)
	ResumePools(ctx context.Context, c slipway.Caller, in change.PoolsInput) ([]slipway.RunnerPool, error)
	Repair(ctx context.Context, c slipway.Caller, in change.RepairInput) (change.Accepted, error)
	StartComponents(ctx context.Context, c slipway.Caller, in change.ComponentsInput) (change.Accepted, error)
	OfferRollback(ctx context.Context, c slipway.Caller, applicationID int64) (change.RollbackOffer, error)
	PlanRollback(ctx context.Context, c slipway.Caller, in change.RollbackInput) (change.Plan, error)
	Rollback(ctx context.Context, c slipway.Caller, in change.RollbackInput) (change.Accepted, error)
	Backup(ctx context.Context, c slipway.Caller, in change.BackupInput) (change.Accepted, error)
	PlanRetry(ctx context.Context, c slipway.Caller, in change.RetryInput) (change.RetryPlan, error)
	RetryTask(ctx context.Context, c slipway.Caller, in change.RetryInput) (change.Accepted, error)
	CancelTask(ctx context.Context, c slipway.Caller, id int64) (slipway.Task, error)
	BeginApp(ctx context.Context, c slipway.Caller, in change.BeginAppInput) (change.BegunApp, error)
	FinishApp(ctx context.Context, c slipway.Caller, in change.FinishAppInput) (change.AppTaken, error)
	CreateUser(ctx context.Context, c slipway.Caller, in change.CreateUserInput) (slipway.User, error)
	UpdateUser(ctx context.Context, c slipway.Caller, in change.UpdateUserInput) (slipway.User, error)
	CreateToken(ctx context.Context, c slipway.Caller, in change.CreateTokenInput) (change.NewToken, error)
	RevokeToken(ctx context.Context, c slipway.Caller, id int64) error
}

// Views is what the pages show.
type Views interface {
	Environments(ctx context.Context, c slipway.Caller, project string, p view.Page) (view.List[slipway.Environment], error)
	Secrets(ctx context.Context, c slipway.Caller, project, environment string, p view.Page) (view.List[view.SecretRow], error)
	Applications(ctx context.Context, c slipway.Caller, f view.ApplicationFilter, p view.Page) (view.List[view.ApplicationRow], error)
	ApplicationByName(ctx context.Context, c slipway.Caller, project, environment, name string) (view.ApplicationPage, error)
	Revisions(ctx context.Context, c slipway.Caller, applicationID int64, p view.Page) (view.List[view.RevisionRow], error)
	Revision(ctx context.Context, c slipway.Caller, applicationID, number int64) (view.RevisionPage, error)
	Tasks(ctx context.Context, c slipway.Caller, f view.TaskFilter, p view.Page) (view.List[view.TaskRow], error)
	Task(ctx context.Context, c slipway.Caller, id int64) (view.TaskPage, error)
	Step(ctx context.Context, c slipway.Caller, taskID, stepID int64) (slipway.Step, error)
	Drivers(ctx context.Context, c slipway.Caller, p view.Page) (view.List[slipway.Driver], error)
	Driver(ctx context.Context, c slipway.Caller, name, version string) (view.DriverPage, error)
	Users(ctx context.Context, c slipway.Caller, p view.Page) (view.List[slipway.User], error)
	Tokens(ctx context.Context, c slipway.Caller, user string, p view.Page) (view.List[slipway.Token], error)
	RunnerPools(ctx context.Context, c slipway.Caller, f view.PoolFilter) ([]view.PoolRow, error)
	Actions(ctx context.Context, c slipway.Caller, applicationID int64, size view.PageSize) (view.ActionsPage, error)
	Job(ctx context.Context, c slipway.Caller, host string, id int64) (view.JobPage, error)
	Connections(ctx context.Context, c slipway.Caller, f view.ConnectionFilter) ([]slipway.Connection, error)
	Connection(ctx context.Context, c slipway.Caller, name string) (slipway.Connection, error)
	AppCreation(ctx context.Context, c slipway.Caller, name string) (slipway.AppCreation, error)
	Deliveries(ctx context.Context, c slipway.Caller, name string) ([]slipway.Delivery, error)
	Audit(ctx context.Context, c slipway.Caller, f view.AuditFilter, p view.Page) (view.List[slipway.Audit], error)
}

// site is the dashboard at work.
type site struct{ Dependencies }

// Handler serves the pages, at the root.
func Handler(d Dependencies) http.Handler {
	d.Log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
	if d.Now == nil {
		d.Now = time.Now
	}
	s := &site{d}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{digest}/{name}", serveAsset)

	// For everybody.
	mux.HandleFunc("GET /sign-in", s.open(s.signIn))
	mux.HandleFunc("POST /sign-in", s.open(s.doSignIn))
	mux.HandleFunc("GET /setup", s.open(s.setup))
	mux.HandleFunc("POST /setup", s.open(s.doSetup))
	mux.HandleFunc("POST /sign-out", s.open(s.doSignOut))
	mux.HandleFunc("POST /theme", s.open(s.doTheme))

	// For those who have signed in.
	mux.HandleFunc("GET /{$}", s.signedIn(s.home))
	mux.HandleFunc("GET /live", s.signedIn(s.live))
	mux.HandleFunc("GET /applications", s.signedIn(s.applications))
	mux.HandleFunc("GET /applications/{project}/{environment}/{name}", s.signedIn(s.application))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/start", s.signedIn(s.doStart))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/repair", s.signedIn(s.doRepair))
	mux.HandleFunc("GET /applications/{project}/{environment}/{name}/rollback", s.signedIn(s.rollback))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/rollback", s.signedIn(s.doRollback))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/back-up", s.signedIn(s.doBackUp))
	mux.HandleFunc("GET /applications/{project}/{environment}/{name}/revisions/{number}", s.signedIn(s.revision))
	mux.HandleFunc("GET /applications/{project}/{environment}/{name}/change", s.signedIn(s.changePool))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/change", s.signedIn(s.doChangePool))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/change/deploy", s.signedIn(s.doDeployChange))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/pause", s.signedIn(s.doPause))
	mux.HandleFunc("POST /applications/{project}/{environment}/{name}/resume", s.signedIn(s.doResume))
	mux.HandleFunc("GET /runners", s.signedIn(s.runnerPools))
	mux.HandleFunc("GET /runners/new", s.signedIn(s.newPool))
	mux.HandleFunc("POST /runners/new", s.signedIn(s.doNewPool))
	mux.HandleFunc("POST /runners/new/deploy", s.signedIn(s.doDeployNewPool))
	mux.HandleFunc("GET /connections", s.signedIn(s.connections))
	mux.HandleFunc("GET /connections/{name}", s.signedIn(s.connection))
	mux.HandleFunc("GET /connections/{name}/app", s.signedIn(s.newApp))
	mux.HandleFunc("POST /connections/{name}/app", s.signedIn(s.doBeginApp))
	mux.HandleFunc("GET /connections/{name}/app/made", s.madeApp)
	mux.HandleFunc("GET /jobs/{host}/{job}", s.signedIn(s.job))
	mux.HandleFunc("GET /jobs/{host}/{job}/steps", s.signedIn(s.jobSteps))
	mux.HandleFunc("GET /jobs/{host}/{job}/log", s.signedIn(s.jobLog))
	mux.HandleFunc("GET /tasks", s.signedIn(s.tasks))
	mux.HandleFunc("GET /tasks/{id}", s.signedIn(s.task))
	mux.HandleFunc("POST /tasks/{id}/cancel", s.signedIn(s.doCancel))
	mux.HandleFunc("GET /tasks/{id}/retry", s.signedIn(s.retry))
	mux.HandleFunc("POST /tasks/{id}/retry", s.signedIn(s.doRetry))
	mux.HandleFunc("GET /tasks/{id}/steps/{step}/output", s.signedIn(s.stepOutput))
	mux.HandleFunc("GET /drivers", s.signedIn(s.drivers))
	mux.HandleFunc("GET /drivers/{name}/{version}", s.signedIn(s.driver))
	mux.HandleFunc("GET /users", s.signedIn(s.users))
	mux.HandleFunc("POST /users", s.signedIn(s.doCreateUser))
	mux.HandleFunc("POST /users/{name}/role", s.signedIn(s.doSetRole))
	mux.HandleFunc("POST /users/{name}/password", s.signedIn(s.doSetPassword))
	mux.HandleFunc("POST /users/{name}/activate", s.signedIn(s.doActivate(true)))
	mux.HandleFunc("POST /users/{name}/deactivate", s.signedIn(s.doActivate(false)))
	mux.HandleFunc("GET /tokens", s.signedIn(s.tokens))
	mux.HandleFunc("POST /tokens", s.signedIn(s.doCreateToken))
	mux.HandleFunc("POST /tokens/{id}/revoke", s.signedIn(s.doRevokeToken))
	mux.HandleFunc("GET /audit", s.signedIn(s.audit))
	mux.HandleFunc("/", s.signedIn(func(*request) error {
		return slipway.Errorf(slipway.NotFound, "there is no such page").WithHint("the menu above leads to all there are")
	}))
	return s.observed(guarded(s.Auth.CrossOrigin(mux)))
}

func (s *site) home(r *request) error {
	r.redirect("/applications")
	return nil
}
