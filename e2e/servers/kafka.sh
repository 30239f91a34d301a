#!/usr/bin/env bash
# Apache Kafka 4.4 from Maven packages: one node that is broker and controller.
# Usage: kafka.sh VERB [INSTANCE]; see lib.sh. The address that start and url print
# is that of the broker; bin prints a folder with Kafka's own command line tools.
#
# KAFKA_SETTINGS holds more server settings for this start, "a=b c=d"; the last one
# counts. KAFKA_JVM holds the options of the Java machine.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

INSTANCE=${2:-main}
NAME=kafka-$INSTANCE
KAFKA=4.4.0
LOG4J=2.25.5 # the binding that fits the log4j-core which Kafka brings
# A test's broker has little to hold, and starts in half the time when its code is
# compiled in one pass.
KAFKA_JVM=${KAFKA_JVM:--Xms128m -Xmx400m -XX:+UseSerialGC -XX:TieredStopAtLevel=1}

need_java() {
  local version=0
  if command -v java >/dev/null; then
    version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  fi
  [ "${version:-0}" -ge 17 ] || need_packages default-jre-headless
}

# unpack_kafka FOLDER: Kafka's broker and tools, without Kafka Connect.
unpack_kafka() {
  note "installing Kafka $KAFKA"
  command -v mvn >/dev/null || need_packages maven
  cat >"$1/pom.xml" <<-END
	<project xmlns="http://maven.apache.org/POM/4.0.0">
	  <modelVersion>4.0.0</modelVersion>
	  <groupId>e2e</groupId>
	  <artifactId>kafka</artifactId>
	  <version>1</version>
	  <packaging>pom</packaging>
	  <dependencies>
	    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA</version></dependency>
	    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$KAFKA</version>
	      <exclusions>
	        <exclusion><groupId>org.apache.kafka</groupId><artifactId>connect-runtime</artifactId></exclusion>
	        <exclusion><groupId>org.apache.kafka</groupId><artifactId>connect-api</artifactId></exclusion>
	        <exclusion><groupId>org.apache.kafka</groupId><artifactId>connect-json</artifactId></exclusion>
	      </exclusions>
	    </dependency>
	    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$LOG4J</version></dependency>
	  </dependencies>
	</project>
	END
  (cd "$1" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$1/libs" >"$1/maven.log" 2>&1) ||
    { tail -n 20 "$1/maven.log" >&2; die "mvn can't fetch Kafka $KAFKA"; }
  [ -e "$1/libs/kafka_2.13-$KAFKA.jar" ] || die "mvn fetched no kafka_2.13-$KAFKA.jar"
  logging >"$1/log4j2.properties"
  tool_scripts "$1"
}

# logging prints what the broker writes to its log: that it is up, and what goes wrong.
logging() {
  cat <<-END
	appender.out.type = Console
	appender.out.name = out
	appender.out.layout.type = PatternLayout
	appender.out.layout.pattern = %d %p %c{1} %m%n
	rootLogger.level = warn
	rootLogger.appenderRef.out.ref = out
	logger.broker.name = kafka.server.BrokerServer
	logger.broker.level = info
	END
}

# tool_scripts FOLDER makes a script for each of the tools that tests use.
tool_scripts() {
  local tool name class
  mkdir -p "$1/bin"
  for tool in kafka-topics=tools.TopicCommand kafka-console-consumer=tools.consumer.ConsoleConsumer kafka-console-producer=tools.ConsoleProducer \
    kafka-transactions=tools.TransactionsCommand kafka-get-offsets=tools.GetOffsetShell kafka-configs=tools.ConfigCommand kafka-features=tools.FeatureCommand; do
    name=${tool%%=*} class=${tool#*=}
    # Warnings go where errors go: what a tool prints is data.
    cat >"$1/bin/$name" <<-END
	#!/bin/sh
	exec java -Xmx400m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile="$CACHE/kafka/tools.properties" -cp "$CACHE/kafka/libs/*" org.apache.kafka.$class "\$@"
	END
    chmod 755 "$1/bin/$name"
  done
  logging | sed -e '/^logger/d' -e '$a appender.out.target = SYSTEM_ERR' >"$1/tools.properties"
}

install_server() {
  need_java
  once "$CACHE/kafka" "$KAFKA $LOG4J 1" unpack_kafka
}

# prepare_server writes the settings, and formats the data folder once. Without the
# marker an interrupted format left something that no broker accepts.
prepare_server() {
  local s
  while [ ! -s "$DIR/controller" ] || [ "$(cat "$DIR/controller")" = "$PORT" ]; do choose_port >"$DIR/controller"; done
  mkdir -p "$DIR/tmp"
  own "$DIR/tmp"
  {
    cat <<-END
	process.roles=broker,controller
	node.id=1
	controller.quorum.voters=1@127.0.0.1:$(cat "$DIR/controller")
	listeners=PLAINTEXT://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$(cat "$DIR/controller")
	advertised.listeners=PLAINTEXT://127.0.0.1:$PORT
	controller.listener.names=CONTROLLER
	listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
	inter.broker.listener.name=PLAINTEXT
	log.dirs=$DIR/data
	num.partitions=3
	default.replication.factor=1
	min.insync.replicas=1
	offsets.topic.replication.factor=1
	offsets.topic.num.partitions=1
	transaction.state.log.replication.factor=1
	transaction.state.log.min.isr=1
	transaction.state.log.num.partitions=1
	share.coordinator.state.topic.replication.factor=1
	share.coordinator.state.topic.min.isr=1
	share.coordinator.state.topic.num.partitions=1
	group.initial.rebalance.delay.ms=0
	auto.create.topics.enable=false
	log.cleaner.dedupe.buffer.size=4194304
	broker.session.timeout.ms=3000
	broker.heartbeat.interval.ms=500
	transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
	END
    for s in ${KAFKA_SETTINGS:-}; do echo "$s"; done
  } >"$DIR/server.properties"
  [ ! -e "$DIR/initialized" ] || return 0
  rm -rf "$DIR/data"
  mkdir -p "$DIR/data"
  own "$DIR/data"
  # An id of 16 bytes in base64, without the signs that look like an option's.
  java_command kafka.tools.StorageTool format -t "$(head -c 16 /dev/urandom | base64 | tr '+/' 'ab' | tr -d '=')" -c "$DIR/server.properties" ${KAFKA_FORMAT:-}
  (cd / && "${COMMAND[@]}") >"$DIR/format.log" 2>&1 || { tail -n 20 "$DIR/format.log" >&2; die "formatting $NAME failed"; }
  touch "$DIR/initialized"
}

# java_command CLASS ARGUMENT...: sets COMMAND.
java_command() {
  COMMAND=(java $KAFKA_JVM -Djava.io.tmpdir="$DIR/tmp" -Dlog4j2.configurationFile="$CACHE/kafka/log4j2.properties" -cp "$CACHE/kafka/libs/*" "$@")
  if [ "$(id -u)" = 0 ]; then
    COMMAND=(setpriv --reuid=nobody --regid=nogroup --clear-groups "${COMMAND[@]}")
  fi
}

server_command() { java_command kafka.Kafka "$DIR/server.properties"; }

server_ready() {
  tail -c "+$(($1 + 1))" "$DIR/log" | grep -q 'Transition from STARTING to STARTED' && port_open "$PORT"
}

server_url() { echo "127.0.0.1:$PORT"; }

server_bin() { install_server; echo "$CACHE/kafka/bin"; }

main "$@"
