package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	root := moduleRoot(t)
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  root,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(root, "docker-compose.yml")}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) {
		o.SetProjectName("freshet", true)
		o.Profiles = []string{"*"}
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestCompose checks docker-compose.yml with the loader that Docker Compose itself
// uses, and what the loader can't know: images, files and commands that fit together.
func TestCompose(t *testing.T) {
	project := loadCompose(t)
	for _, name := range []string{"postgres", "freshet", "reader"} {
		service, err := project.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range service.Configs {
			if project.Configs[config.Source].Content == "" {
				t.Errorf("%s uses config %s, which has no content", name, config.Source)
			}
		}
		if service.Build == nil {
			continue
		}
		if !strings.HasPrefix(service.Build.DockerfileInline, "FROM ") {
			t.Errorf("%s: dockerfile_inline does not begin with FROM", name)
		}
		for _, line := range strings.Split(service.Build.DockerfileInline, "\n") {
			if source, ok := strings.CutPrefix(line, "COPY go."); ok && source != "mod go.sum ./" {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	freshet := project.Services["freshet"]
	if freshet.DependsOn["postgres"].Condition != types.ServiceConditionHealthy || project.Services["postgres"].HealthCheck == nil {
		t.Error("freshet does not wait until PostgreSQL is healthy")
	}
	for _, port := range project.Services["postgres"].Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("PostgreSQL is published on %q, not on localhost alone", port.HostIP)
		}
	}
	goMod, err := os.ReadFile(filepath.Join(moduleRoot(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(goMod), "\ngo ")
	version := strings.Join(strings.SplitN(strings.Fields(after)[0], ".", 3)[:2], ".")
	if !strings.Contains(freshet.Build.DockerfileInline, "FROM golang:"+version+" ") {
		t.Errorf("freshet is not built with Go %s, which go.mod wants", version)
	}
}

// TestComposePipeline lets freshet itself check the pipeline document inside it.
func TestComposePipeline(t *testing.T) {
	servers.Require(t)
	binary, err := process.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(loadCompose(t).Configs["shop.yaml"].Content), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "validate", path)
	cmd.Env = append(os.Environ(), "SHOP_PASSWORD=shop")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("freshet validate: %v\n%s", err, out)
	}
}
