#!/bin/sh
# secrets.sh <folder> <signing key> <public key>: passwords, and certificates of the NATS nodes, for compose.roles.yaml.
# The keys are those of `gateway audit key --new`. What is there stays: certificates and passwords are made once.
set -eu
folder=$1 signing_key=$2 public_key=$3
umask 077
mkdir -p "$folder"
[ ! -e "$folder/environment" ] || { echo "$folder/environment exists: nothing was changed" >&2; exit 1; }
cd "$folder"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=gateway-nats -keyout ca.key -out ca.pem 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=nats -keyout node.key -out node.csr 2>/dev/null
echo 'subjectAltName=DNS:nats-1,DNS:nats-2,DNS:nats-3' > node.ext
openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile node.ext -out node.pem 2>/dev/null
rm node.csr node.ext ca.srl
chmod 644 ca.pem node.pem
# The containers run as users of their own, and only this folder's owner gets here.
chmod 644 node.key
{
  for name in EDGE PROXY VIDEO_POLLER PROJECTOR SCHEDULER GATEWAY OPERATOR BACKUP RESTORE NATS_ROUTE POSTGRES GRAFANA; do
    echo "GATEWAY_${name}_PASSWORD=p$(openssl rand -hex 24)"
  done
  echo "GATEWAY_ADMIN_TOKEN=$(openssl rand -hex 32)"
  echo "GATEWAY_CALLBACK_SECRET=$(openssl rand -hex 32)"
  echo "GATEWAY_SIGNING_KEY=$signing_key"
  echo "GATEWAY_PUBLIC_KEY=$public_key"
} > environment
