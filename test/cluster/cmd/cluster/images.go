package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"slipway.dev/slipway/test/cluster/guestbook"
	"slipway.dev/slipway/test/cluster/image"
	"slipway.dev/slipway/test/cluster/node"
	"slipway.dev/slipway/test/cluster/postgres"
	"slipway.dev/slipway/test/cluster/runner"
)

func loadImage(ctx context.Context, cluster node.Cluster, files []string) error {
	if len(files) == 0 {
		return errors.New("name at least one tarball")
	}
	for _, file := range files {
		if err := cluster.Load(ctx, file); err != nil {
			return err
		}
		cluster.Report("loaded %s", file)
	}
	return nil
}

func buildImage(ctx context.Context, cluster node.Cluster, arguments []string) error {
	flags := flag.NewFlagSet("build-image", flag.ContinueOnError)
	reference := flags.String("name", "", "the image's name and tag, such as registry.example.com/tool:1")
	user := flags.String("user", "65532:65532", "the user, as a number, that it runs as")
	program := flags.String("program", "", "the program's name in the image (that of the file)")
	output := flags.String("output", "", "keep the tarball in this file, and do not load it")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 || *reference == "" {
		return errors.New("give --name NAME:TAG and one file, a static program")
	}
	if *program == "" {
		*program = filepath.Base(flags.Arg(0))
	}
	spec := image.Program(flags.Arg(0), *program, *reference)
	spec.User = *user
	if *output != "" {
		if err := image.Save(*output, spec); err != nil {
			return err
		}
		cluster.Report("wrote %s to %s", *reference, *output)
		return nil
	}
	return load(ctx, cluster, spec)
}

func buildGuestbook(ctx context.Context, cluster node.Cluster, _ []string) error {
	folder, err := os.MkdirTemp("", "slipway-guestbook-")
	if err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	specs, err := guestbook.Images(ctx, filepath.Join(cluster.Source, "..", "..", "examples", "guestbook-app"), folder)
	if err != nil {
		return err
	}
	return load(ctx, cluster, specs...)
}

func buildPostgres(ctx context.Context, cluster node.Cluster, _ []string) error {
	folder, err := os.MkdirTemp("", "slipway-postgres-")
	if err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	spec, err := postgres.Image(ctx, folder)
	if err != nil {
		return err
	}
	return load(ctx, cluster, spec)
}

func buildRunner(ctx context.Context, cluster node.Cluster, _ []string) error {
	folder, err := os.MkdirTemp("", "slipway-runner-")
	if err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	specs, err := runner.Images(ctx, filepath.Join(cluster.Source, "..", ".."), folder)
	if err != nil {
		return err
	}
	return load(ctx, cluster, specs...)
}

// load packs the images into one tarball, loads it and removes it.
func load(ctx context.Context, cluster node.Cluster, specs ...image.Spec) error {
	folder, err := os.MkdirTemp("", "slipway-images-")
	if err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "images.tar")
	if err := image.Save(file, specs...); err != nil {
		return err
	}
	if err := cluster.Load(ctx, file); err != nil {
		return err
	}
	for _, spec := range specs {
		for _, reference := range spec.References {
			cluster.Report("loaded %s", reference)
		}
	}
	return nil
}
