#!/usr/bin/env bash
# Real nodes of Apache Ignite 2, or one of Ignite 3, on 127.0.0.1, for tests and demonstrations.
#
# ignite.sh start DIR [--nodes N] [--secure] [--client-certificate] [--inactive] [--region-mib N]
#                 [--optimized]
#     starts N nodes (1), which form one cluster, with their data in DIR; prints shell lines that export
#     HEADRACE_IGNITE_ADDRESSES (host:port,…), HEADRACE_IGNITE_PIDS (with spaces, in the same order) and
#     HEADRACE_IGNITE_PARTITIONS (a file: which key lies in which partition, as the node computes it).
#     --secure: TLS, the user ignite, persistent data; exports HEADRACE_IGNITE_USER, _PASSWORD, _CA_FILE
#     besides. --client-certificate: as --secure, and clients must show HEADRACE_IGNITE_CERTIFICATE_FILE with
#     HEADRACE_IGNITE_KEY_FILE. --inactive: as --secure, and the cluster is left inactive. --optimized: for
#     measuring. Without it, nodes start in half the processor time, and then run slower code.
# ignite.sh start DIR --ignite-3
#     starts a node of Ignite 3, which Headrace cannot use, with its data in DIR
# ignite.sh stop DIR
#     stops those that it started in DIR; the data stay
# ignite.sh run [OPTION]... -- COMMAND...
#     starts them in a folder of its own, runs the command with that environment, stops them, removes the
#     folder
# ignite.sh java SOURCE [ARGUMENT]...
#     runs another program in Java, of one source file, with the libraries of a node
# ignite.sh build
#     builds the program of a node, if it is not there, into
#     ${XDG_CACHE_HOME:-~/.cache}/headrace/ignite-VERSION
#
# Needs a JDK from 11 on and Maven: Debian's openjdk-17-jdk-headless and maven.
set -euo pipefail

folder_of_script=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly sources=$folder_of_script/ignite

# choose_node VERSION POM CLASS: which program is built and started.
choose_node() {
  version=$1 pom=$sources/$2 node_class=$3
  # Another source, or another way to build it, is another program.
  local source_digest
  source_digest=$(cat "$pom" "$sources/$node_class.java" "${BASH_SOURCE[0]}" | sha256sum | cut -c 1-12)
  program="${XDG_CACHE_HOME:-$HOME/.cache}/headrace/ignite-$version/$source_digest"
}
choose_node 2.17.0 pom.xml IgniteNode

readonly opened=(java.base/jdk.internal.access java.base/jdk.internal.misc java.base/sun.nio.ch
  java.base/sun.util.calendar java.management/com.sun.jmx.mbeanserver
  jdk.internal.jvmstat/sun.jvmstat.monitor java.base/sun.reflect.generics.reflectiveObjects
  jdk.management/com.sun.management.internal java.base/java.io java.base/java.nio java.base/java.net
  java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.locks
  java.base/java.util.concurrent.atomic java.base/java.lang java.base/java.lang.invoke
  java.base/java.lang.reflect java.base/java.math java.sql/java.sql java.base/java.time)

readonly server=ignite
# shellcheck source=tools/servers/server.sh
source "$folder_of_script/server.sh"

build() {
  [[ -d $program ]] && return
  command -v javac >/dev/null && command -v mvn >/dev/null ||
    fail "javac and mvn are needed: install openjdk-17-jdk-headless and maven"
  mkdir -p "${program%/*}"
  exec 9>"${program%/*}/.lock"
  flock 9
  if [[ ! -d $program ]]; then
    local staging=$program.$$
    say "building a node of Apache Ignite $version (once)"
    mkdir -p "$staging/lib" "$staging/classes"
    cp "$pom" "$staging/pom.xml"
    mvn -q -B -f "$staging/pom.xml" -Dignite.version="$version" -DincludeScope=runtime \
      -DoutputDirectory="$staging/lib" dependency:copy-dependencies >"$staging/build.log" 2>&1 &&
      javac -d "$staging/classes" -cp "$staging/lib/*" "$sources/$node_class.java" \
        >>"$staging/build.log" 2>&1 &&
      jar --create --file "$staging/lib/node.jar" -C "$staging/classes" . >>"$staging/build.log" 2>&1 &&
      rm -r "$staging/classes" ||
      { tail -n 20 "$staging/build.log" >&2; fail "building failed; the log is $staging/build.log"; }
    mv --no-target-directory "$staging" "$program"
    archive_classes
  fi
  exec 9>&-
}

# Java takes the classes of a node from an archive, and does not read and check them each time. It accepts the
# archive for these libraries at this path alone. A node starts without an archive, too, but slower.
archive_classes() (
  archive=$program/node.jsa
  folder=$(mktemp -d)
  java_options=(-XX:TieredStopAtLevel=1 "-XX:ArchiveClassesAtExit=$archive.$$")
  { start "$folder" && stop "$folder"; } >"$program/archive.log" 2>&1 || true
  [[ ! -f $archive.$$ ]] || mv "$archive.$$" "$archive"
  rm -rf "$folder"
)

# An authority of its own; a node's certificate for this machine, a client's, and what Java reads of them.
make_keys() {
  local keys=$1
  [[ -f $keys/trust.p12 ]] && return
  mkdir -p "$keys"
  {
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=headrace-authority \
      -keyout "$keys/authority.key" -out "$keys/authority.crt"
    local name
    for name in node client; do
      openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout "$keys/$name.key" -out "$keys/$name.csr"
      openssl x509 -req -in "$keys/$name.csr" -CA "$keys/authority.crt" -CAkey "$keys/authority.key" \
        -CAcreateserial -days 30 -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1") \
        -out "$keys/$name.crt"
    done
    openssl pkcs12 -export -in "$keys/node.crt" -inkey "$keys/node.key" -name node \
      -passout pass:headrace -out "$keys/node.p12"
    keytool -importcert -noprompt -storetype PKCS12 -keystore "$keys/trust.p12" -storepass headrace \
      -alias authority -file "$keys/authority.crt"
  } >"$keys/log" 2>&1 || fail "certificates cannot be made: $(tail -n 3 "$keys/log")"
}

# Pids of nodes in DIR that still run, and not of other programs that got their numbers since.
running_pids() {
  local pid
  for pid in $(cat "$1/pids" 2>/dev/null); do
    if { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "-Dwork=$1/"; then echo "$pid"; fi
  done
}

is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports COUNT: that many in a row.
free_ports() {
  local count=$1 first i
  for ((try = 0; try < 50; ++try)); do
    first=$((20000 + RANDOM % 12000))
    for ((i = 0; i < count; ++i)); do is_free $((first + i)) || continue 2; done
    echo "$first"
    return
  done
  fail "no $count free ports in a row"
}

# start_node INDEX FIRST-PORT: a node has three ports: for the other nodes two, for clients one.
start_node() {
  local index=$1 first=$2 name=node$1 options=() module
  for module in "${opened[@]}"; do options+=("--add-opens=$module=ALL-UNNAMED"); done
  mkdir -p "$dir/$name"
  rm -f "$dir/$name/ready"
  # In a session of its own: an interrupt at the terminal is for the command that uses it.
  # Ignite writes into the folder where it starts, too.
  (cd "$dir/$name" && exec setsid java "${options[@]}" "${java_options[@]}" \
    -Xms128m -Xmx512m -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true \
    -DIGNITE_QUIET=true -DIGNITE_NO_ASCII=true -DIGNITE_UPDATE_NOTIFIER=false \
    -Dname="$name" -Dwork="$dir/$name" -Dports.discovery="$discovery_ports" \
    -Dport.discovery=$((first + 3 * index)) -Dport.communication=$((first + 3 * index + 1)) \
    -Dport.client=$((first + 3 * index + 2)) -Dregion_mib="$region_mib" -Dnodes="$nodes" \
    -Dkeys="${secure:+$dir/keys}" -Dclient_certificate="$client_certificate" -Dactive="$active" \
    -cp "$program/lib/*" "$node_class") >"$dir/$name/log" 2>&1 </dev/null 9>&- &
  echo $! >>"$dir/pids"
}

# Whether no node that was started has ended. On a busy machine, one may not have become Java yet.
all_live() {
  local pid
  for pid in $(cat "$dir/pids"); do kill -0 "$pid" 2>/dev/null || return 1; done
}

# Two minutes at most: a busy machine takes 45 s for three.
wait_until_ready() {
  local i
  for ((try = 0; try < 1200; ++try)); do
    for ((i = 0; i < nodes; ++i)); do
      if [[ ! -f $dir/node$i/ready ]]; then
        all_live || return 1
        sleep 0.1
        continue 2
      fi
    done
    return 0
  done
  return 1
}

print_environment() {
  local first=$1 addresses=() i
  for ((i = 0; i < nodes; ++i)); do addresses+=("127.0.0.1:$((first + 3 * i + 2))"); done
  echo "export HEADRACE_IGNITE_ADDRESSES=$(IFS=,; echo "${addresses[*]}")"
  echo "export HEADRACE_IGNITE_PIDS='$(tr '\n' ' ' <"$dir/pids")'"
  echo "export HEADRACE_IGNITE_PARTITIONS='$dir/node0/partitions.tsv'"
  [[ $secure ]] || return 0
  echo "export HEADRACE_IGNITE_USER=ignite HEADRACE_IGNITE_PASSWORD=ignite"
  echo "export HEADRACE_IGNITE_CA_FILE='$dir/keys/authority.crt'"
  echo "export HEADRACE_IGNITE_CERTIFICATE_FILE='$dir/keys/client.crt'"
  echo "export HEADRACE_IGNITE_KEY_FILE='$dir/keys/client.key'"
}

start() {
  dir=$(mkdir -p "$1" && cd "$1" && pwd)
  shift
  nodes=1 secure='' client_certificate=false active=true region_mib=512
  local is_optimized=''
  while (($#)); do
    case $1 in
      --nodes) nodes=${2:?--nodes takes a number}; shift ;;
      --secure) secure=yes ;;
      --client-certificate) secure=yes client_certificate=true ;;
      --inactive) secure=yes active=false ;;
      --ignite-3) choose_node 3.1.0 pom-3.xml Ignite3Node ;;
      --optimized) is_optimized=yes ;;
      --region-mib) region_mib=${2:?--region-mib takes a number}; shift ;;
      *) fail "unknown option $1" ;;
    esac
    shift
  done
  if [[ $(running_pids "$dir") ]]; then cat "$dir/environment"; return; fi
  build
  if [[ $is_optimized ]]; then
    java_options=()
  elif [[ ! ${java_options-} ]]; then
    java_options=(-XX:TieredStopAtLevel=1 "-XX:SharedArchiveFile=$program/node.jsa")
  fi
  [[ ! $secure ]] || make_keys "$dir/keys"
  local first i
  for ((attempt = 0; attempt < 3; ++attempt)); do
    first=$(free_ports $((3 * nodes))) || exit 1
    discovery_ports=$(for ((i = 0; i < nodes; ++i)); do echo $((first + 3 * i)); done | paste -s -d ,)
    rm -f "$dir/pids"
    for ((i = 0; i < nodes; ++i)); do start_node "$i" "$first"; done
    if wait_until_ready; then
      print_environment "$first" | tee "$dir/environment"
      return
    fi
    stop "$dir"
    grep -qi "address already in use\|failed to bind\|port.*in use" "$dir"/node*/log || break
  done
  tail -n 15 "$dir"/node*/log >&2
  fail "the nodes do not start; above are the ends of their logs, $dir/node*/log"
}

stop() {
  local dir pids pid
  dir=$(cd "$1" && pwd)
  pids=$(running_pids "$dir")
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for ((try = 0; try < 100; ++try)); do
    [[ $(running_pids "$dir") ]] || break
    sleep 0.1
  done
  for pid in $(running_pids "$dir"); do kill -KILL "$pid" 2>/dev/null || true; done
  rm -f "$dir/pids"
}

run_java() {
  local options=() module
  build
  for module in "${opened[@]}"; do options+=("--add-opens=$module=ALL-UNNAMED"); done
  exec java "${options[@]}" -Xmx512m -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true -DIGNITE_QUIET=true \
    -DIGNITE_NO_ASCII=true -DIGNITE_UPDATE_NOTIFIER=false -cp "$program/lib/*" "$@"
}

case ${1:-} in
  start | stop) (($# >= 2)) || fail "$1 needs a folder"; "$@" ;;
  run) "$@" ;;
  java) (($# >= 2)) || fail "java needs a source file"; shift; run_java "$@" ;;
  build) build ;;
  *) sed -n '/^# ignite.sh start/,/^$/p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 2 ;;
esac
