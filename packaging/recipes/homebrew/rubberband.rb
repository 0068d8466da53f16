class Rubberband < Formula
  desc "Cost-aware planner and autoscaler for hyperparameter tuning"
  homepage "https://github.com/OWNER/rubberband"
  url "https://github.com/OWNER/rubberband/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "python@3.12" => :build
  depends_on "cjson"
  depends_on "curl"
  depends_on "duktape"
  depends_on "expat"
  depends_on "gsl"
  depends_on "libmicrohttpd"
  depends_on "libuv"
  depends_on "libyaml"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "qhull"
  depends_on "sqlite"
  depends_on "zlib"

  def install
    system "meson", "setup", "build", "-Dtests=false", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/rbplan --version")
    system bin/"rbplan", share/"rubberband/examples/bert/job.yaml"
  end
end
