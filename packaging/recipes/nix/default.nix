{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation rec {
  pname = "rubberband";
  version = "0.1.0";

  src = pkgs.fetchFromGitHub {
    owner = "OWNER";
    repo = "rubberband";
    rev = "v${version}";
    hash = pkgs.lib.fakeHash;
  };

  nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 ];
  buildInputs = with pkgs; [ cjson curl duktape expat gsl libmicrohttpd libuv libyaml openssl qhull sqlite zlib ];
  mesonFlags = [ "-Dtests=false" ];

  meta = {
    description = "Cost-aware planner and autoscaler for hyperparameter tuning";
    license = pkgs.lib.licenses.asl20;
    platforms = pkgs.lib.platforms.linux;
  };
}
