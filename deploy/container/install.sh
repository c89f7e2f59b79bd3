#!/bin/sh
# install.sh <package.tgz> <folder>: the program with its embedded servers below the folder, for every user to run and none to change;
# <folder>/bin/gateway starts it. The image and the service of systemd are installed by this.
set -eu
package=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$folder"
[ -e package.json ] || echo '{ "private": true }' > package.json
npm install --engine-strict --no-audit --no-fund "$package" # With an older Node npm would leave the servers out without a message.
mkdir -p bin
ln -sfn ../node_modules/.bin/gateway bin/gateway
chmod -R a+rX,go-w "$folder"
