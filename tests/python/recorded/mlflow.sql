CREATE TABLE "experiments" (
	experiment_id INTEGER NOT NULL, 
	name VARCHAR(256) NOT NULL, 
	artifact_location VARCHAR(256), 
	lifecycle_stage VARCHAR(32), 
	creation_time BIGINT, 
	last_update_time BIGINT, 
	workspace VARCHAR(63) DEFAULT 'default' NOT NULL, 
	CONSTRAINT experiment_pk PRIMARY KEY (experiment_id), 
	CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')), 
	CONSTRAINT uq_experiments_workspace_name UNIQUE (workspace, name)
);
INSERT INTO "experiments" VALUES(0,'Default','/work/w27/tests/python/recorded/mlruns/0','active',1795773627328,1795773627328,'default');
INSERT INTO "experiments" VALUES(1,'cats','file://@FOLDER@/artifacts','active',1795773627332,1795773627332,'default');
CREATE TABLE logged_models (
	model_id VARCHAR(36) NOT NULL, 
	experiment_id INTEGER NOT NULL, 
	name VARCHAR(500) NOT NULL, 
	artifact_location VARCHAR(1000) NOT NULL, 
	creation_timestamp_ms BIGINT NOT NULL, 
	last_updated_timestamp_ms BIGINT NOT NULL, 
	status INTEGER NOT NULL, 
	lifecycle_stage VARCHAR(32), 
	model_type VARCHAR(500), 
	source_run_id VARCHAR(32), 
	status_message VARCHAR(1000), 
	CONSTRAINT logged_models_pk PRIMARY KEY (model_id), 
	CONSTRAINT logged_models_lifecycle_stage_check CHECK (lifecycle_stage IN ('active', 'deleted')), 
	CONSTRAINT fk_logged_models_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id) ON DELETE CASCADE
);
INSERT INTO "logged_models" VALUES('m-db70293bd785433299963bf735ee2859',1,'net','file://@FOLDER@/artifacts/models/m-db70293bd785433299963bf735ee2859/artifacts',1795773627474,1795773627474,1,'active',NULL,'fd1786d9a19f4697b9e5937ddf35c1cf',NULL);
CREATE TABLE "metrics" (
	"key" VARCHAR(250) NOT NULL, 
	value FLOAT NOT NULL, 
	timestamp BIGINT NOT NULL, 
	run_uuid VARCHAR(32) NOT NULL, 
	step BIGINT DEFAULT '0' NOT NULL, 
	is_nan BOOLEAN DEFAULT '0' NOT NULL, 
	CONSTRAINT metric_pk PRIMARY KEY ("key", timestamp, step, run_uuid, value, is_nan), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid), 
	CHECK (is_nan IN (0, 1))
);
INSERT INTO "metrics" VALUES('loss',1.0,1700000000000,'fd1786d9a19f4697b9e5937ddf35c1cf',0,0);
INSERT INTO "metrics" VALUES('loss',0.5,1700000000001,'fd1786d9a19f4697b9e5937ddf35c1cf',1,0);
INSERT INTO "metrics" VALUES('loss',3.33333333333333314829e-01,1700000000002,'fd1786d9a19f4697b9e5937ddf35c1cf',2,0);
INSERT INTO "metrics" VALUES('loss',0.0,1700000000003,'fd1786d9a19f4697b9e5937ddf35c1cf',3,1);
INSERT INTO "metrics" VALUES('loss',-1.79769313486231562234e+308,1700000000004,'fd1786d9a19f4697b9e5937ddf35c1cf',4,0);
INSERT INTO "metrics" VALUES('acc/top 1',0.5,1795773627516,'7fc927c6bf4e411dae7447c452961d04',1,0);
CREATE TABLE "params" (
	"key" VARCHAR(250) NOT NULL, 
	value VARCHAR(8000) NOT NULL, 
	run_uuid VARCHAR(32) NOT NULL, 
	CONSTRAINT param_pk PRIMARY KEY ("key", run_uuid), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
INSERT INTO "params" VALUES('lr','0.001','fd1786d9a19f4697b9e5937ddf35c1cf');
INSERT INTO "params" VALUES('layers/0','dense','fd1786d9a19f4697b9e5937ddf35c1cf');
CREATE TABLE "runs" (
	run_uuid VARCHAR(32) NOT NULL, 
	name VARCHAR(250), 
	source_type VARCHAR(20), 
	source_name VARCHAR(500), 
	entry_point_name VARCHAR(50), 
	user_id VARCHAR(256), 
	status VARCHAR(9), 
	start_time BIGINT, 
	end_time BIGINT, 
	source_version VARCHAR(50), 
	lifecycle_stage VARCHAR(20), 
	artifact_uri VARCHAR(200), 
	experiment_id INTEGER, deleted_time BIGINT, 
	CONSTRAINT run_pk PRIMARY KEY (run_uuid), 
	CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')), 
	CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')), 
	FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id), 
	CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED'))
);
INSERT INTO "runs" VALUES('fd1786d9a19f4697b9e5937ddf35c1cf','first','UNKNOWN','','','unknown','FINISHED',1795773627352,1795773627494,'','active','file://@FOLDER@/artifacts/fd1786d9a19f4697b9e5937ddf35c1cf/artifacts',1,NULL);
INSERT INTO "runs" VALUES('7fc927c6bf4e411dae7447c452961d04','second: with ''colon'' # and a long name that a writer of YAML folds, as it has over eighty characters','UNKNOWN','','','unknown','KILLED',1795773627505,1795773627522,'','active','file://@FOLDER@/artifacts/7fc927c6bf4e411dae7447c452961d04/artifacts',1,NULL);
INSERT INTO "runs" VALUES('a40a81a435154acfb8120ad3198f5244','going','UNKNOWN','','','unknown','RUNNING',1795773627530,NULL,'','active','file://@FOLDER@/artifacts/a40a81a435154acfb8120ad3198f5244/artifacts',1,NULL);
INSERT INTO "runs" VALUES('681d6f9c85bf4f5ea0385f8eb2f61360','gone','UNKNOWN','','','unknown','FAILED',1795773627541,1795773627552,'','deleted','file://@FOLDER@/artifacts/681d6f9c85bf4f5ea0385f8eb2f61360/artifacts',1,1795773627569);
CREATE TABLE "tags" (
	"key" VARCHAR(250) NOT NULL, 
	value VARCHAR(8000), 
	run_uuid VARCHAR(32) NOT NULL, 
	CONSTRAINT tag_pk PRIMARY KEY ("key", run_uuid), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
INSERT INTO "tags" VALUES('team','a b','fd1786d9a19f4697b9e5937ddf35c1cf');
INSERT INTO "tags" VALUES('mlflow.runName','first','fd1786d9a19f4697b9e5937ddf35c1cf');
INSERT INTO "tags" VALUES('mlflow.runName','second: with ''colon'' # and a long name that a writer of YAML folds, as it has over eighty characters','7fc927c6bf4e411dae7447c452961d04');
INSERT INTO "tags" VALUES('mlflow.runName','going','a40a81a435154acfb8120ad3198f5244');
INSERT INTO "tags" VALUES('mlflow.runName','gone','681d6f9c85bf4f5ea0385f8eb2f61360');
